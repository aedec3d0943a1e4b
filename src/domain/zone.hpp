#pragma once

#include <string>
#include <vector>

#include "domain/coordinates.hpp"
#include "domain/patch.hpp"
#include "domain/transform.hpp"

namespace uzushio::domain {

/// Patch with a boundary condition, by its name in `Boundaries`.
struct BoundaryPatch {
    Patch patch;
    std::string condition;
};

/// One-to-one connection of a patch to a patch of a donor zone, which may be the zone itself (CGNS:
/// GridConnectivity1to1). The donor's position is this zone's plus `translation`, which is non-zero
/// for periodic connections.
struct Connection {
    Patch patch;
    std::string donor;
    Patch donor_patch;
    Transform transform;
    Vector translation{};
};

/// Structured zone of a multiblock mesh, as the user describes it (CGNS: Zone_t). Ranks hold
/// blocks, which are parts of zones.
struct Zone {
    std::string name;
    Index<3> cells{1, 1, 1};
    Coordinates coordinates;
    std::vector<BoundaryPatch> boundaries;
    std::vector<Connection> connections;

    /// Set a boundary condition on all of a face.
    void set_boundary(Face face, std::string condition);
};

/// Connect two patches in both directions; `transform` and `translation` are those from `zone` to
/// `donor`, which may be the same zone.
void connect(Zone& zone, const Patch& patch, Zone& donor, const Patch& donor_patch,
             const Transform& transform = {}, const Vector& translation = {});

/// Connect the lower face of `axis` to the upper one; `period` is the distance between them.
void connect_periodic(Zone& zone, std::size_t axis, const Vector& period);

} // namespace uzushio::domain
