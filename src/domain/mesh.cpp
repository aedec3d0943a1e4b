#include "domain/mesh.hpp"

#include <utility>

#include "domain/mesh_validation.hpp"

namespace uzushio::domain {

Mesh::Mesh(int dimension, std::vector<Zone> zones)
    : dimension_(dimension), zones_(std::move(zones)), links_(zones_.size()) {
    validate(dimension_, zones_);
    for (std::size_t z = 0; z < zones_.size(); ++z)
        for (const Connection& c : zones_[z].connections) {
            const int donor = find(c.donor);
            links_[z].push_back({donor, c.patch,
                                 IndexMap::across(c.patch, zones_[z].cells, c.donor_patch,
                                                  zone(donor).cells, c.transform),
                                 c.translation});
        }
}

int Mesh::find(std::string_view name) const {
    for (std::size_t z = 0; z < zones_.size(); ++z)
        if (zones_[z].name == name)
            return static_cast<int>(z);
    return -1;
}

std::int64_t Mesh::cells() const {
    std::int64_t sum = 0;
    for (const Zone& zone : zones_)
        sum += Box<3>::of(zone.cells).volume();
    return sum;
}

Index<3> Mesh::layers(std::int64_t layers) const {
    Index<3> result{};
    for (std::size_t a = 0; a < static_cast<std::size_t>(dimension_); ++a)
        result[a] = layers;
    return result;
}

std::shared_ptr<const Mesh>
box_mesh(int dimension, const std::array<std::vector<double>, 3>& vertices,
         const std::function<std::optional<std::string>(const Face&)>& condition) {
    Zone zone;
    zone.name = "box";
    for (std::size_t a = 0; a < 3; ++a)
        zone.cells[a] = static_cast<std::int64_t>(vertices[a].size()) - 1;
    zone.coordinates = Coordinates::rectilinear(vertices);
    for (const Face& face : faces(dimension)) {
        if (auto name = condition(face)) {
            zone.set_boundary(face, *std::move(name));
        } else if (!face.is_upper()) {
            Vector period{};
            period[face.axis] = vertices[face.axis].back() - vertices[face.axis].front();
            connect_periodic(zone, face.axis, period);
        }
    }
    return std::make_shared<Mesh>(dimension, std::vector{std::move(zone)});
}

} // namespace uzushio::domain
