#include "solvers/thermal/bodies.hpp"

#include "solvers/thermal/fluxes.hpp"

namespace uzushio::thermal {

namespace {

/// Replace the advection and diffusion along axis `B` of the component along `A`, at a face near a
/// surface, by those of extrapolated values.
template <class Advected, std::size_t A, std::size_t B>
void correct_across(const domain::Grid& grid, const FlowBlock& block, double viscosity,
                    const CutPoint& point, double& derivative) {
    const auto& sides = point.sides[B];
    if (sides[0].link == 0 && sides[1].link == 0)
        return;
    const RowMetrics m(grid, point.at);
    const RowPointer u(block.velocity[A], point.at), v(block.velocity[B], point.at);
    const auto line =
        line_of(u.value, u.stride[B], Advected::ghosts, sides, [](int) { return 0.0; });
    derivative += momentum_across<Advected, A, B>(m, line.data() + 2, 1, v.value, v.stride[B],
                                                  v.stride[A], viscosity, 0) -
                  momentum_across<Advected, A, B>(m, u.value, u.stride[B], v.value, v.stride[B],
                                                  v.stride[A], viscosity, 0);
}

std::vector<Box<3>> cells_of(const domain::Decomposition& decomposition, int rank) {
    std::vector<Box<3>> cells;
    for (const int id : decomposition.blocks_of(rank))
        cells.push_back(decomposition.block(id).cells);
    return cells;
}

/// Return whether a cell is not fluid, or a surface lies between it and a fluid neighbour.
bool is_divided(const ImmersedGrid& immersed, std::size_t block, std::size_t dimension,
                const Box<3>& known, const Index<3>& cell) {
    if (!immersed.is_fluid(block, cell))
        return true;
    for (std::size_t a = 0; a < dimension; ++a) {
        const Index<3> below = moved(cell, a, -1), above = moved(cell, a, 1);
        const geometry::CutLinks& links = immersed.cell_links(block, a);
        for (const auto& [link, neighbour] : {std::pair(below, below), std::pair(cell, above)})
            if (known.contains(neighbour) && immersed.is_fluid(block, neighbour) &&
                links.find(link) != nullptr)
                return true;
    }
    return false;
}

/// Return the cells of blocks that have a cut link or share an edge with a divided cell: those
/// beside a blocked face, or beside the edge of one. None without a subgrid model.
std::vector<std::vector<Index<3>>> cells_beside(const ImmersedGrid& immersed,
                                                const std::vector<Box<3>>& blocks,
                                                const FlowParameters& flow) {
    std::vector<std::vector<Index<3>>> result(blocks.size());
    if (flow.subgrid.kind == SubgridModel::Kind::none)
        return result;
    const auto dimension = static_cast<std::size_t>(flow.dimension);
    const std::int64_t depth = dimension == 2 ? 0 : 1;
    const Box<3> near{{-1, -1, -depth}, {2, 2, depth + 1}};
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const Box<3> known = immersed.lattice(b, 3).box;
        for_indices(blocks[b], [&](const Index<3>& at) {
            bool beside = false;
            for_indices(near, [&](const Index<3>& shift) {
                const Index<3> next{at[0] + shift[0], at[1] + shift[1], at[2] + shift[2]};
                const bool shares_edge = shift[0] * shift[1] * shift[2] == 0;
                beside = beside || (shares_edge && known.contains(next) &&
                                    is_divided(immersed, b, dimension, known, next));
            });
            if (beside)
                result[b].push_back(at);
        });
    }
    return result;
}

/// Return the open faces near surfaces, of blocks and axes.
std::vector<std::array<std::vector<CutPoint>, 3>>
open_points(const ImmersedGrid& immersed, const FlowParameters& flow,
            const domain::Field<double>& velocity) {
    const int reach = flow.scheme == Scheme::central ? 1 : 2;
    std::vector<std::array<std::vector<CutPoint>, 3>> points(velocity.blocks());
    for (std::size_t b = 0; b < velocity.blocks(); ++b)
        for (std::size_t a = 0; a < velocity.arrays(); ++a) {
            const View<const double> open = std::as_const(*immersed.open()).view(b, a);
            const geometry::Lattice faces = immersed.lattice(b, a);
            points[b][a] = cut_points(immersed, faces, velocity.owned(b, a), a, reach);
            std::erase_if(points[b][a], [&](const CutPoint& point) {
                return immersed.grid()[a].is_boundary(point.at[a]) || open(point.at) == 0;
            });
        }
    return points;
}

} // namespace

Bodies::Bodies(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
               const FlowParameters& flow, const domain::Grid& grid,
               const domain::Field<double>& velocity)
    : comm_(comm), flow_(flow), immersed_(comm, decomposition, rank, flow, grid),
      patches_(comm, decomposition, rank, immersed_, flow.bodies.size()),
      blocked_(immersed_, patches_, velocity), points_(open_points(immersed_, flow, velocity)),
      without_eddies_(cells_beside(immersed_, cells_of(decomposition, rank), flow)),
      forces_(immersed_, flow, cells_of(decomposition, rank), points_),
      scalars_(comm, immersed_, patches_, flow, cells_of(decomposition, rank)) {}

void Bodies::correct_momentum(const FlowBlock& block, std::size_t number, std::size_t a,
                              double time, const View<double>& derivative) const {
    const domain::Grid& grid = immersed_.grid();
    for_component(flow_, a, [&]<class Advected, std::size_t D, std::size_t A>() {
        for (const CutPoint& point : points_[number][a]) {
            double& out = derivative(point.at);
            correct_across<Advected, A, (A + 1) % D>(grid, block, flow_.viscosity, point, out);
            if constexpr (D == 3)
                correct_across<Advected, A, (A + 2) % D>(grid, block, flow_.viscosity, point, out);
        }
    });
    blocked_.relax(number, a, block.velocity[a], time, derivative);
}

double Bodies::conductivity(std::size_t number, std::size_t s, const Index<3>& cell) const {
    if (immersed_.is_fluid(number, cell))
        return 1;
    const int body = immersed_.body_at(immersed_.lattice(number, 3), cell);
    if (body < 0)
        return 0;
    const BodyCondition& in = flow_.bodies[static_cast<std::size_t>(body)].scalars[s];
    return in.kind == BodyCondition::Kind::conjugate ? in.conductivity : 0;
}

std::vector<Vector> Bodies::forces(const std::vector<FlowBlock>& blocks,
                                   const domain::Field<double>& pressure) const {
    std::vector<parallel::CompensatedSum> sums(3 * flow_.bodies.size());
    for (std::size_t b = 0; b < blocks.size(); ++b)
        forces_.add(blocks[b], pressure.view(b), b, sums);
    std::vector<double> totals(sums.size());
    parallel::sum_over_ranks(sums.data(), totals.data(), sums.size(), comm_);
    std::vector<Vector> forces(flow_.bodies.size());
    for (std::size_t n = 0; n < totals.size(); ++n)
        forces[n / 3][n % 3] = totals[n];
    return forces;
}

} // namespace uzushio::thermal
