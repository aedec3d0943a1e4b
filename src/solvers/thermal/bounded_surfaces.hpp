#pragma once

#include <mpi.h>

#include <array>
#include <vector>

#include "domain/field.hpp"
#include "parallel/compensated_sum.hpp"
#include "solvers/thermal/momentum.hpp"
#include "solvers/thermal/surface_scalars.hpp"

namespace uzushio::thermal {

/// Amounts of scalars that cells gain through the surfaces of bodies in a step, for
/// `BoundedTransport`. What is advected through blocked faces into the fluid of a patch has the
/// mean value of what is advected out of it there, or the fixed value of the body. The other
/// amounts of the cells at a patch sum to 0; their limited parts are scaled so that they do too.
class BoundedSurfaces {
  public:
    /// References must outlive this.
    BoundedSurfaces(MPI_Comm comm, const FlowParameters& flow, const domain::Grid& grid,
                    const SurfaceScalars& scalars, std::size_t blocks);

    void begin(std::size_t s);
    /// Add the amounts of a stage, `all` and `upwind` being the lengths of time of the gains and of
    /// the upwind ones; the upwind ones are added to `upwind_of` the blocks (collective).
    void add_stage(const std::vector<FlowBlock>& blocks, std::size_t s, double all, double upwind,
                   domain::Field<double>& upwind_of);

    /// Call `visit(cell, sums)` for the fluid cells at surfaces in a block, for which it extends
    /// the sums and the bounds.
    template <class Visit> void for_fluid(std::size_t b, std::size_t s, const Visit& visit) const;
    /// Add the limited amounts to the values of all blocks; `shares` of the amounts are within the
    /// bounds of a cell; `start`: values at the begin of the step (collective).
    void finish(std::size_t s, const domain::Field<double>& shares,
                const domain::Field<double>& start, domain::Field<double>& scalar);

  private:
    using Sides = SurfaceScalars::Gains;
    struct Part {
        std::vector<std::vector<Sides>> fluid, solid; ///< amounts per volume by scalar and cell
    };
    [[nodiscard]] std::vector<double> inflow_values(const std::vector<FlowBlock>& blocks,
                                                    std::size_t s,
                                                    const domain::Field<double>& values) const;
    [[nodiscard]] double volume(const Index<3>& cell) const {
        return grid_.side_area(0, cell) * grid_[0].width()[cell[0]];
    }
    [[nodiscard]] bool is_fixed(const CutSide& cut, std::size_t s) const {
        return scalars_.condition(cut.surface, s).kind == BodyCondition::Kind::fixed;
    }

    MPI_Comm comm_;
    const FlowParameters& flow_;
    const domain::Grid& grid_;
    const SurfaceScalars& scalars_;
    std::vector<Part> parts_; ///< of the blocks
};

template <class Visit>
void BoundedSurfaces::for_fluid(std::size_t b, std::size_t s, const Visit& visit) const {
    const auto& points = scalars_.fluid(b);
    for (std::size_t p = 0; p < points.size(); ++p)
        visit(points[p].cut, parts_[b].fluid[s][p]);
}

} // namespace uzushio::thermal
