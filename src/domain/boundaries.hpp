#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "domain/boundary_region.hpp"
#include "domain/field.hpp"
#include "domain/mesh_error.hpp"

namespace uzushio::domain {

/// Boundary conditions by name, called for each block and patch to fill ghosts of fields. Apply
/// them after the halo exchange, with `Reach::corners` if edges matter.
template <class T> class Boundaries {
  public:
    /// Function that fills `region.ghosts(...)` of block `region.local` of the fields at a time.
    using Condition = std::function<void(const BoundaryRegion& region,
                                         std::span<Field<T>* const> fields, double time)>;

    /// `layers`: maximum number of ghost layers of a field. Throws `MeshError` on all ranks if the
    /// mesh has a condition that is not in `conditions`.
    Boundaries(const Decomposition& decomposition, int rank, int layers,
               std::map<std::string, Condition> conditions)
        : conditions_(std::move(conditions)) {
        for (const Zone& zone : decomposition.mesh().zones())
            for (const BoundaryPatch& b : zone.boundaries)
                check(zone, b);
        for (NamedRegion& named : boundary_regions(decomposition, rank, layers))
            calls_.push_back({&conditions_.at(named.condition), named.region});
    }
    Boundaries(const Boundaries&) = delete;
    Boundaries& operator=(const Boundaries&) = delete;

    void apply(std::span<Field<T>* const> fields, double time) const {
        for (const Call& call : calls_)
            (*call.condition)(call.region, fields, time);
    }
    void apply(Field<T>& field, double time) const {
        Field<T>* const one = &field;
        apply(std::span(&one, 1), time);
    }

  private:
    struct Call {
        const Condition* condition;
        BoundaryRegion region;
    };
    void check(const Zone& zone, const BoundaryPatch& b) const {
        if (conditions_.contains(b.condition))
            return;
        std::string known;
        for (const auto& [name, condition] : conditions_)
            known.append(known.empty() ? "" : ", ").append(name);
        throw MeshError("zone '" + zone.name + "', " + b.patch.text() +
                        ": there is no boundary condition '" + b.condition +
                        "'; there are: " + (known.empty() ? "none" : known));
    }

    std::map<std::string, Condition> conditions_;
    std::vector<Call> calls_;
};

} // namespace uzushio::domain
