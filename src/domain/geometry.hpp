#pragma once

#include <mpi.h>

#include "domain/field.hpp"

namespace uzushio::domain {

/// Area vectors of cell sides, and volumes of cells, of one rank's blocks, with ghosts. The area
/// vectors of each cell sum to zero to round-off, so that a uniform flow has no net flux: a free
/// stream is preserved.
///
/// Area vectors point towards ascending indices, also in left-handed zones. A mesh of fewer than
/// three dimensions has the thickness 1 along each unused axis. Ghosts beyond connections are the
/// donor's; those beyond boundaries are mirror images.
class Geometry {
  public:
    /// Compute and exchange (collective). Throws `MeshError` on all ranks, with zone and cell, if a
    /// cell has no positive volume, or not the handedness of its zone's others.
    Geometry(MPI_Comm comm, const Decomposition& decomposition, int rank, int ghosts);

    /// Return the area vectors (x, y, z) of the sides normal to an axis.
    [[nodiscard]] View<const double> areas(std::size_t block, std::size_t axis) const {
        return areas_.view(block, axis);
    }
    [[nodiscard]] View<const double> volumes(std::size_t block) const {
        return volumes_.view(block);
    }

    static FieldSpec area_spec(int ghosts) {
        return {"area", 3, ghosts, Centring::face, Values::flux};
    }
    static FieldSpec volume_spec(int ghosts) { return {"volume", 1, ghosts}; }

  private:
    Field<double> areas_;
    Field<double> volumes_;
};

} // namespace uzushio::domain
