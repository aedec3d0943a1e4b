#include "thermal/bodies.hpp"

#include "thermal/fluxes.hpp"

namespace uzushio::thermal {

using domain::Index;
using domain::View;

namespace {

/// Replace advection and diffusion of the component along `A` across axis `B` at a face near a
/// surface by those of extrapolated values.
template <class Advected, std::size_t A, std::size_t B>
void correct_across(const std::array<AxisMetrics, 3>& metrics, const FlowBlock& block,
                    double viscosity, const CutPoint& point, double& derivative) {
    const auto& sides = point.sides[B];
    if (sides[0].link == 0 && sides[1].link == 0)
        return;
    const RowMetrics m(metrics, point.at);
    const RowPointer u(block.velocity[A], point.at), v(block.velocity[B], point.at);
    const auto line =
        line_of(u.value, u.stride[B], Advected::ghosts, sides, [](int) { return 0.0; });
    derivative += momentum_across<Advected, A, B>(m, line.data() + 2, 1, v.value, v.stride[B],
                                                  v.stride[A], viscosity, 0) -
                  momentum_across<Advected, A, B>(m, u.value, u.stride[B], v.value, v.stride[B],
                                                  v.stride[A], viscosity, 0);
}

std::vector<domain::Box<3>> cells_of(const domain::Decomposition& decomposition, int rank) {
    std::vector<domain::Box<3>> cells;
    for (const int id : decomposition.blocks_of(rank))
        cells.push_back(decomposition.block(id).cells);
    return cells;
}

/// Return the open faces near surfaces, of blocks and axes.
std::vector<std::array<std::vector<CutPoint>, 3>>
open_points(const ImmersedGrid& grid, const FlowParameters& flow,
            const std::array<linalg::Axis, 3>& axes, const domain::Field<double>& velocity) {
    const int reach = flow.scheme == Scheme::central ? 1 : 2;
    std::vector<std::array<std::vector<CutPoint>, 3>> points(velocity.blocks());
    for (std::size_t b = 0; b < velocity.blocks(); ++b)
        for (std::size_t a = 0; a < velocity.arrays(); ++a) {
            const View<const double> open = std::as_const(*grid.open()).view(b, a);
            const geometry::Lattice faces = grid.lattice(b, a);
            points[b][a] = cut_points(grid, faces, velocity.owned(b, a), a, reach);
            std::erase_if(points[b][a], [&](const CutPoint& point) {
                const std::int64_t at = point.at[a];
                const bool at_boundary = !axes[a].periodic() && (at == 0 || at == axes[a].cells());
                return at_boundary || open(point.at) == 0;
            });
        }
    return points;
}

} // namespace

Bodies::Bodies(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
               const FlowParameters& flow, const std::array<linalg::Axis, 3>& axes,
               const std::array<AxisMetrics, 3>& metrics, const domain::Field<double>& velocity)
    : comm_(comm), flow_(flow), metrics_(metrics), grid_(comm, decomposition, rank, flow, axes),
      blocked_(grid_, metrics, flow.bodies.size(), velocity),
      points_(open_points(grid_, flow, axes, velocity)),
      forces_(grid_, flow, axes, metrics, cells_of(decomposition, rank), points_),
      scalars_(comm, grid_, flow, metrics, cells_of(decomposition, rank)) {}

void Bodies::correct_momentum(const FlowBlock& block, std::size_t number, std::size_t a,
                              const View<double>& derivative) {
    for_component(flow_, a, [&]<class Advected, std::size_t D, std::size_t A>() {
        for (const CutPoint& point : points_[number][a]) {
            double& out = derivative(point.at);
            correct_across<Advected, A, (A + 1) % D>(metrics_, block, flow_.viscosity, point, out);
            if constexpr (D == 3)
                correct_across<Advected, A, (A + 2) % D>(metrics_, block, flow_.viscosity, point,
                                                         out);
        }
    });
    blocked_.prepare(number, a, block.velocity[a], derivative);
}

void Bodies::begin_projection(domain::Field<double>& velocity) {
    blocked_.balance(comm_);
    blocked_.set(velocity);
}

std::vector<domain::Vector> Bodies::forces(const std::vector<FlowBlock>& blocks,
                                           const domain::Field<double>& pressure) const {
    std::vector<parallel::CompensatedSum> sums(3 * flow_.bodies.size());
    for (std::size_t b = 0; b < blocks.size(); ++b)
        forces_.add(blocks[b], pressure.view(b), b, sums);
    std::vector<double> totals(sums.size());
    parallel::sum_over_ranks(sums.data(), totals.data(), sums.size(), comm_);
    std::vector<domain::Vector> forces(flow_.bodies.size());
    for (std::size_t n = 0; n < totals.size(); ++n)
        forces[n / 3][n % 3] = totals[n];
    return forces;
}

} // namespace uzushio::thermal
