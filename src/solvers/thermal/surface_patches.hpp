#pragma once

#include <mpi.h>

#include <vector>

#include "solvers/thermal/immersed_grid.hpp"

namespace uzushio::thermal {

/// Connected patches of the surfaces of bodies, as the fluid beside them sees them. Two fluid cells
/// at the surface of a body are beside the same patch if a path joins them through fluid cells that
/// are at that surface, or share a side with such cells. So a patch is beside one region of fluid,
/// and separate parts of a body have separate patches.
class SurfacePatches {
  public:
    /// Find the patches (collective).
    SurfacePatches(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
                   const ImmersedGrid& immersed, std::size_t bodies);

    /// Return the number of the patches of all ranks.
    [[nodiscard]] std::size_t count() const { return keys_.size(); }
    /// Return the number of the patch of a body beside a fluid cell that has a cut link to it; of a
    /// block or of its ghosts across faces.
    [[nodiscard]] std::size_t patch(std::size_t block, const Index<3>& cell, int body) const;

  private:
    [[nodiscard]] double key(std::size_t block, const Index<3>& cell, int body) const;

    std::size_t bodies_;
    domain::Field<double> labels_; ///< of the connected cells near surfaces
    std::vector<double> keys_;     ///< of the patches, ascending
};

} // namespace uzushio::thermal
