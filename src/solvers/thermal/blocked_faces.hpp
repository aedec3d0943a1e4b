#pragma once

#include <mpi.h>

#include <array>
#include <vector>

#include "domain/field.hpp"
#include "domain/grid.hpp"
#include "solvers/thermal/immersed_grid.hpp"
#include "solvers/thermal/surface_patches.hpp"

namespace uzushio::thermal {

/// Velocity at blocked faces. Beside a fluid cell it relaxes to a linear function between the
/// surface, where it is 0, and the cell's opposite face, so that the cell may keep a divergence of
/// 0; the flux through the blocked faces at each patch of the surfaces is 0. Elsewhere it is 0.
class BlockedFaces {
  public:
    using Field = domain::Field<double>;

    BlockedFaces(const ImmersedGrid& immersed, const SurfacePatches& patches,
                 const Field& velocity);

    /// Set the derivative of the velocity at the blocked faces normal to axis `a` of a block, from
    /// a velocity with valid ghosts. `time`: of the relaxation, of the order of the stable step; it
    /// does not depend on the steps that are taken, so neither does the pressure.
    void relax(std::size_t block, std::size_t a, const View<const double>& velocity, double time,
               const View<double>& derivative) const;

    /// Change the velocity by what it relaxes by in a long time, if all others are constant; its
    /// ghosts are valid.
    void relax(Field& velocity) const;

    /// Change the velocity at blocked faces so that the flux through those of each patch is 0, and
    /// store it (collective).
    void balance(MPI_Comm comm, Field& velocity);

    /// Set the velocity at all blocked faces to that of `balance`.
    void restore(Field& velocity) const;

  private:
    struct Forced { ///< blocked face beside a fluid cell
        Index<3> at{};
        int opposite = 0;  ///< distance of the opposite face, -1 or 1
        double weight = 0; ///< of the velocity there
        double area = 0;   ///< negative where the fluid is above
        std::size_t patch = 0;
        bool counted = false; ///< in sums of this block; a face that two blocks share counts once
        double value = 0;     ///< of the velocity, after `balance`

        /// Return the difference to the linear function, relaxed. The two faces' velocities are
        /// nearly equal where the cell is narrow: an extrapolation by a weight of -1 would
        /// alternate.
        [[nodiscard]] double defect(const View<const double>& velocity, std::size_t a) const;
    };
    struct Row { ///< faces along i at which the velocity is 0
        Index<3> first{};
        std::int64_t size = 0;
    };
    struct Part {
        std::vector<Forced> forced;
        std::vector<Row> zero;
    };
    [[nodiscard]] Part part_of(const ImmersedGrid& immersed, const SurfacePatches& patches,
                               std::size_t block, std::size_t a, const Box<3>& faces) const;

    std::vector<std::array<Part, 3>> parts_; ///< of blocks and axes
    std::size_t patches_;                    ///< number of them
};

} // namespace uzushio::thermal
