#include "linalg/anisotropy.hpp"

#include <algorithm>
#include <array>

namespace uzushio::linalg {

namespace {

using domain::Index;

/// Couplings of a cell to its neighbours.
struct Couplings {
    std::array<double, 3> along{}; ///< each axis; 0: none
    bool blocked = false;          ///< through some face nothing passes
};

Couplings couplings_of(const Equation& equation, const std::array<Axis, 3>& axes, std::size_t block,
                       const Index<3>& at) {
    Couplings couplings;
    for (std::size_t a = 0; a < 3; ++a) {
        if (axes[a].cells() < 2)
            continue;
        const double width = axes[a].widths[static_cast<std::size_t>(at[a])];
        for (const int side : {0, 1}) {
            const Index<3> face = domain::moved(at, a, side);
            if (axes[a].reciprocal_distance(static_cast<int>(face[a])) == 0)
                continue; // no flux for any coefficient
            const double b = equation.b ? equation.b->view(block, a)(face) : 1.0;
            couplings.blocked = couplings.blocked || b == 0;
            double& coupling = couplings.along[a]; // the weaker one, where b jumps between cells
            if (b > 0)
                coupling =
                    coupling == 0 ? b / (width * width) : std::min(coupling, b / (width * width));
        }
    }
    return couplings;
}

bool is_held(const Axis& axis) {
    return axis.ends[0] == Condition::dirichlet || axis.ends[1] == Condition::dirichlet;
}

} // namespace

bool is_anisotropic(MPI_Comm comm, const Equation& equation) {
    // Ratios of couplings along two axes, by measured iterations of both cycles.
    constexpr double varying = 4096; // most over least in the mesh: cells widen 1:8 along two axes
    // In a cell: single precision loses the weak ones, unless a boundary value holds the axis of
    // the strong ones.
    constexpr double strong = 256;
    constexpr double few = 64; // in a cell, where some faces are blocked
    constexpr double many = 3; // where those of many cells are
    const auto axes = axes_of(equation);
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    std::array<double, 6>
        ratios{};                  // for each pair of axes the most, and the most of the reciprocal
    std::array<double, 2> cells{}; // that are not isolated, and that have blocked faces
    const auto& decomposition = *equation.decomposition;
    const auto ids = decomposition.blocks_of(rank);
    for (std::size_t block = 0; block < ids.size(); ++block)
        for_indices(decomposition.block(ids[block]).cells, [&](const Index<3>& at) {
            const auto [along, blocked] = couplings_of(equation, axes, block, at);
            if (*std::max_element(along.begin(), along.end()) == 0)
                return;
            cells[0] += 1;
            cells[1] += blocked ? 1 : 0;
            for (std::size_t a = 0; a < 3; ++a) {
                const double coupling = along[a], other = along[(a + 1) % 3];
                if (coupling > 0 && other > 0) {
                    ratios[2 * a] = std::max(ratios[2 * a], coupling / other);
                    ratios[2 * a + 1] = std::max(ratios[2 * a + 1], other / coupling);
                }
            }
        });
    MPI_Allreduce(MPI_IN_PLACE, ratios.data(), 6, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, cells.data(), 2, MPI_DOUBLE, MPI_SUM, comm);
    if (cells[1] > 0.8 * cells[0])
        return true;
    for (std::size_t a = 0; a < 3; ++a) {
        const double most = ratios[2 * a], reciprocal_of_least = ratios[2 * a + 1];
        const double in_a_cell = std::max(most, reciprocal_of_least);
        const bool loses = (most > strong && !is_held(axes[a])) ||
                           (reciprocal_of_least > strong && !is_held(axes[(a + 1) % 3]));
        if (most * reciprocal_of_least > varying || loses || (cells[1] > 0 && in_a_cell > few) ||
            (cells[1] > 0.25 * cells[0] && in_a_cell > many))
            return true;
    }
    return false;
}

} // namespace uzushio::linalg
