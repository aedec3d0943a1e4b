#include "domain/boundaries.hpp"

#include "domain/mesh_error.hpp"

namespace uzushio::domain {

void check_conditions(const Mesh& mesh, const std::string& field, const Conditions& conditions) {
    for (const Zone& zone : mesh.zones())
        for (const BoundaryPatch& b : zone.boundaries) {
            if (conditions.contains(b.condition))
                continue;
            std::string known;
            for (const auto& [name, fill] : conditions)
                known.append(known.empty() ? "" : ", ").append(name);
            throw MeshError("zone '" + zone.name + "', " + b.patch.text() + ": field '" + field +
                            "' has no boundary condition '" + b.condition +
                            "'; there are: " + (known.empty() ? "none" : known));
        }
}

Boundaries::Boundaries(const Decomposition& decomposition, int rank, const FieldSpec& spec,
                       const Conditions& conditions)
    : staggers_(staggers(spec, decomposition.mesh().dimension())), layers_(spec.ghosts) {
    check_conditions(decomposition.mesh(), spec.name, conditions);
    for (const NamedRegion& named : boundary_regions(decomposition, rank, layers_))
        calls_.push_back({conditions.at(named.condition), named.region});
}

void Boundaries::apply(Field<double>& field, double time) const {
    for (const auto& [fill, region] : calls_)
        for (std::size_t array = 0; array < staggers_.size(); ++array)
            fill({field.view(region.local, array), region.ghosts(layers_, staggers_[array]),
                  staggers_[array], &region},
                 time);
}

} // namespace uzushio::domain
