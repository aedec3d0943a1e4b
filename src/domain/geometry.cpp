#include "domain/geometry.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "domain/boundary_region.hpp"
#include "domain/halo_exchange.hpp"
#include "domain/mesh_error.hpp"

namespace uzushio::domain {
namespace {

using Corners = std::array<Vector, 4>;

Vector operator-(const Vector& a, const Vector& b) {
    return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Vertices of a zone; an axis that the mesh does not use has the thickness 1.
class Vertices {
  public:
    Vertices(const Zone& zone, int dimension)
        : coordinates_(&zone.coordinates), dimension_(static_cast<std::size_t>(dimension)) {}

    [[nodiscard]] Vector operator()(Index<3> index) const {
        Vector unused{};
        for (std::size_t a = dimension_; a < 3; ++a) {
            unused[a] = static_cast<double>(index[a]);
            index[a] = 0;
        }
        Vector at = coordinates_->vertex(index);
        for (std::size_t a = dimension_; a < 3; ++a)
            at[a] = unused[a];
        return at;
    }

    /// Return the corners of the lower side of a cell, normal to an axis, in a cycle that is
    /// right-handed about the axis in a right-handed zone.
    [[nodiscard]] Corners side(const Index<3>& cell, std::size_t axis) const {
        const std::size_t b = (axis + 1) % 3, c = (axis + 2) % 3;
        const Vertices& vertex = *this;
        return {vertex(cell), vertex(moved(cell, b, 1)), vertex(moved(moved(cell, b, 1), c, 1)),
                vertex(moved(cell, c, 1))};
    }

  private:
    const Coordinates* coordinates_;
    std::size_t dimension_;
};

/// Return the area vector of a bilinear surface: half the vector product of its diagonals.
Vector area_of(const Corners& side) {
    const Vector p = side[2] - side[0], q = side[3] - side[1];
    return {0.5 * (p[1] * q[2] - p[2] * q[1]), 0.5 * (p[2] * q[0] - p[0] * q[2]),
            0.5 * (p[0] * q[1] - p[1] * q[0])};
}

Vector mean_of(const Corners& side) {
    Vector mean{};
    for (std::size_t c = 0; c < 3; ++c)
        mean[c] = 0.25 * (side[0][c] + side[1][c] + side[2][c] + side[3][c]);
    return mean;
}

/// Return the volume of a cell by the divergence theorem; negative in a left-handed zone.
double volume_of(const Vertices& vertices, const Index<3>& cell) {
    const Vector origin = vertices(cell);
    double volume = 0;
    for (std::size_t a = 0; a < 3; ++a) {
        const Corners lower = vertices.side(cell, a), upper = vertices.side(moved(cell, a, 1), a);
        volume += dot(mean_of(upper) - origin, area_of(upper)) -
                  dot(mean_of(lower) - origin, area_of(lower));
    }
    return volume / 3;
}

/// Throw `MeshError` on all ranks for the first cell of any rank whose volume, with the sign of its
/// zone's handedness, is not positive.
void check_volumes(MPI_Comm comm, const Decomposition& decomposition, int rank,
                   const Field<double>& volumes) {
    const Mesh& mesh = decomposition.mesh();
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    std::array<std::int64_t, 4> first{none, none, none, none}; // zone, k, j, i
    for (std::size_t b = 0; b < volumes.blocks(); ++b) {
        const Block& block = decomposition.block(decomposition.blocks_of(rank)[b]);
        const View<const double> view = volumes.view(b);
        for_indices(block.cells, [&](const Index<3>& at) {
            if (const bool positive = view(at) > 0; !positive)
                first = std::min(first, {block.zone, at[2], at[1], at[0]});
        });
    }
    for (std::size_t n = 0; n < first.size(); ++n) { // the first in the order of the tuple
        std::int64_t smallest = first[n];
        MPI_Allreduce(MPI_IN_PLACE, &smallest, 1, MPI_INT64_T, MPI_MIN, comm);
        if (first[n] != smallest)
            first.fill(none);
        first[n] = smallest;
    }
    if (first[0] == none)
        return;
    const Zone& zone = mesh.zone(static_cast<int>(first[0]));
    throw MeshError("zone '" + zone.name + "': the cell (" + std::to_string(first[3]) + ", " +
                    std::to_string(first[2]) + ", " + std::to_string(first[1]) +
                    ") (i, j, k) has a volume that is zero, negative or not a number; mend the "
                    "coordinates of its corners");
}

/// Copy the volumes of the cells inside a boundary to the ghosts beyond it.
void copy_volumes(const BoundaryRegion& region, const View<double>& volumes, int layers) {
    for_indices(region.ghosts(layers),
                [&](const Index<3>& ghost) { volumes(ghost) = volumes(region.mirrored(ghost)); });
}

/// Set the area vectors beyond a boundary to the mirror images, in the plane of the boundary's
/// sides, of those inside; they point towards ascending indices too.
void mirror_areas(const BoundaryRegion& region, const View<double>& areas, std::size_t axis,
                  const View<double>& boundary_areas, int layers) {
    const Face& face = region.patch.face;
    Stagger stagger{};
    stagger[axis] = 1;
    for_indices(region.ghosts(layers, stagger), [&](const Index<3>& ghost) {
        const Index<3> inside = region.mirrored(ghost, stagger);
        Index<3> side = ghost;
        side[face.axis] = face.is_upper() ? region.zone_cells[face.axis] : 0;
        Vector normal{}; // of the boundary: of one side, or of both beside a side between cells
        for (const std::int64_t step : {0, -1}) {
            const Index<3> at = moved(side, axis, step);
            if ((step == 0 || axis != face.axis) && boundary_areas.box().contains(at))
                for (std::size_t c = 0; c < 3; ++c)
                    normal[c] += boundary_areas(at, static_cast<int>(c));
        }
        Vector area{};
        for (std::size_t c = 0; c < 3; ++c)
            area[c] = areas(inside, static_cast<int>(c));
        const double twice = 2 * dot(area, normal) / dot(normal, normal);
        const double sign = axis == face.axis ? -1 : 1;
        for (std::size_t c = 0; c < 3; ++c)
            areas(ghost, static_cast<int>(c)) = sign * (area[c] - twice * normal[c]);
    });
}

} // namespace

Geometry::Geometry(MPI_Comm comm, const Decomposition& decomposition, int rank, int ghosts)
    : areas_(decomposition, rank, area_spec(ghosts)),
      volumes_(decomposition, rank, volume_spec(ghosts)) {
    const Mesh& mesh = decomposition.mesh();
    for (std::size_t b = 0; b < volumes_.blocks(); ++b) {
        const Zone& zone = mesh.zone(decomposition.block(decomposition.blocks_of(rank)[b]).zone);
        const Vertices vertices(zone, mesh.dimension());
        const double hand = volume_of(vertices, {0, 0, 0}) < 0 ? -1 : 1;
        const View<double> volumes = volumes_.view(b);
        for_indices(volumes_.owned(b), [&](const Index<3>& cell) {
            volumes(cell) = hand * volume_of(vertices, cell);
        });
        for (std::size_t axis = 0; axis < areas_.arrays(); ++axis) {
            const View<double> areas = areas_.view(b, axis);
            for_indices(areas_.owned(b, axis), [&](const Index<3>& side) {
                const Vector area = area_of(vertices.side(side, axis));
                for (int c = 0; c < 3; ++c)
                    areas(side, c) = hand * area[static_cast<std::size_t>(c)];
            });
        }
    }
    check_volumes(comm, decomposition, rank, volumes_);
    parallel::Traffic uncounted;
    HaloExchange<double> exchange(comm, decomposition, {area_spec(ghosts), volume_spec(ghosts)},
                                  Reach::edges, uncounted);
    const std::array<Field<double>*, 2> measures{&areas_, &volumes_};
    exchange.exchange(measures);
    for (const NamedRegion& named : boundary_regions(decomposition, rank, ghosts)) {
        const std::size_t local = named.region.local, normal = named.region.patch.face.axis;
        copy_volumes(named.region, volumes_.view(local), ghosts);
        for (std::size_t axis = 0; axis < areas_.arrays(); ++axis)
            mirror_areas(named.region, areas_.view(local, axis), axis, areas_.view(local, normal),
                         ghosts);
    }
}

} // namespace uzushio::domain
