#pragma once

#include <mpi.h>

#include <array>
#include <vector>

#include "domain/field.hpp"
#include "thermal/axis_metrics.hpp"
#include "thermal/immersed_grid.hpp"

namespace uzushio::thermal {

/// Velocity at blocked faces. Beside a fluid cell it is linear between the surface, where it is 0,
/// and the cell's opposite face, so that the cell may keep a divergence of 0; the flux through the
/// blocked faces of each body beside each region of fluid is 0. Elsewhere it is 0.
class BlockedFaces {
  public:
    using Field = domain::Field<double>;

    BlockedFaces(const ImmersedGrid& grid, const std::array<AxisMetrics, 3>& metrics,
                 std::size_t bodies, const Field& velocity);

    /// Set the derivative at the blocked faces normal to axis `a` of a block to 0, and store the
    /// velocity there after the stage, from the field before it, whose ghosts are valid.
    void prepare(std::size_t block, std::size_t a, const domain::View<const double>& velocity,
                 const domain::View<double>& derivative);

    /// Change the stored velocities so that the flux through those of each group is 0 (collective).
    void balance(MPI_Comm comm);

    /// Set the velocity at all blocked faces.
    void set(Field& velocity) const;

  private:
    struct Forced { ///< blocked face beside a fluid cell
        domain::Index<3> at{};
        int opposite = 0;     ///< distance of the opposite face, -1 or 1
        double weight = 0;    ///< of the velocity there
        double area = 0;      ///< negative where the fluid is above
        int group = 0;        ///< of the faces of one body beside one region of fluid
        bool counted = false; ///< in sums of this block; a face that two blocks share counts once
        double value = 0;
    };
    struct Row { ///< faces along i at which the velocity is 0
        domain::Index<3> first{};
        std::int64_t size = 0;
    };
    struct Part {
        std::vector<Forced> forced;
        std::vector<Row> zero;
    };
    [[nodiscard]] Part part_of(const ImmersedGrid& grid, const std::array<AxisMetrics, 3>& metrics,
                               std::size_t block, std::size_t a, const domain::Box<3>& faces) const;

    std::vector<std::array<Part, 3>> parts_; ///< of blocks and axes
    std::size_t bodies_, groups_;
};

} // namespace uzushio::thermal
