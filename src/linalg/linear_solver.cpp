#include "linalg/linear_solver.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>

namespace uzushio::linalg {

void check_compatibility(double sum, double magnitude) {
    constexpr double tolerance = 1e-9; // sums of round-off of many cells
    if (std::abs(sum) <= tolerance * magnitude)
        return;
    std::ostringstream text;
    text << "the equation has no solution: no value is given at any face, so the integral of the "
            "right-hand side must be 0, but it is "
         << sum << ", " << sum / magnitude
         << " of the integral of its magnitude; subtract its mean, or use a dirichlet condition";
    throw std::invalid_argument(text.str());
}

void check_arrays(const LinearSolver::Sources& arrays, const domain::Decomposition& decomposition,
                  int rank) {
    const auto ids = decomposition.blocks_of(rank);
    bool fits = arrays.size() == ids.size();
    for (std::size_t b = 0; fits && b < ids.size(); ++b)
        fits = arrays[b].components() == 1 &&
               arrays[b].box().contains(decomposition.block(ids[b]).cells);
    if (!fits)
        throw std::invalid_argument("a linear solver needs cell-centred arrays with one component, "
                                    "on the blocks of its equation");
}

SolveReport LinearSolver::solve(const domain::Field<double>& f, domain::Field<double>& x) {
    Sources from;
    Targets to;
    for (std::size_t b = 0; b < f.blocks(); ++b)
        from.push_back(f.view(b));
    for (std::size_t b = 0; b < x.blocks(); ++b)
        to.push_back(x.view(b));
    return solve(from, to);
}

} // namespace uzushio::linalg
