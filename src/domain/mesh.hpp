#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/index_map.hpp"
#include "domain/zone.hpp"

namespace uzushio::domain {

/// Multiblock mesh: structured zones with one-to-one connections, validated. The same on all ranks.
/// A mesh of fewer than three dimensions has one cell along each unused axis, and neither faces nor
/// ghost layers across it.
class Mesh {
  public:
    /// Connection in a form for mapping indices.
    struct Link {
        int donor = 0;
        Patch patch;
        IndexMap map;
        Vector translation{};
    };

    /// Throws `MeshError`, which names zone, face and range, unless each cell side of each face is
    /// covered exactly once, connections agree from both sides, and vertices that they join
    /// coincide.
    Mesh(int dimension, std::vector<Zone> zones);

    [[nodiscard]] int dimension() const { return dimension_; }
    [[nodiscard]] const std::vector<Zone>& zones() const { return zones_; }
    [[nodiscard]] const Zone& zone(int number) const {
        return zones_[static_cast<std::size_t>(number)];
    }
    [[nodiscard]] const std::vector<Link>& links(int zone) const {
        return links_[static_cast<std::size_t>(zone)];
    }
    /// Return the number of a zone; -1 if there is none of this name.
    [[nodiscard]] int find(std::string_view name) const;
    /// Return the number of cells of all zones.
    [[nodiscard]] std::int64_t cells() const;
    /// Return `layers` along the axes of the mesh, 0 along others.
    [[nodiscard]] Index<3> layers(std::int64_t layers) const;

  private:
    int dimension_;
    std::vector<Zone> zones_;
    std::vector<std::vector<Link>> links_;
};

/// Return a mesh of one rectilinear zone, "box", with these vertices along each axis. `condition`
/// returns the name of the boundary condition of a face; none: its axis is periodic.
[[nodiscard]] std::shared_ptr<const Mesh>
box_mesh(int dimension, const std::array<std::vector<double>, 3>& vertices,
         const std::function<std::optional<std::string>(const Face&)>& condition);

} // namespace uzushio::domain
