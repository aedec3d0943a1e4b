#include "linalg/linear_solver.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>

namespace uzushio::linalg {

bool is_balanced(double sum, double magnitude) {
    constexpr double tolerance = 1e-9; // sums of round-off of many cells
    return std::abs(sum) <= tolerance * magnitude;
}

void check_compatibility(double sum, double magnitude) {
    if (!std::isfinite(sum) || !std::isfinite(magnitude))
        throw std::invalid_argument("the right-hand side of an equation has values that are not "
                                    "finite, or too large to be added");
    if (is_balanced(sum, magnitude))
        return;
    std::ostringstream text;
    text << "the equation has no solution: no value is given at any face, so the integral of the "
            "right-hand side must be 0, but it is "
         << sum << ", " << sum / magnitude
         << " of the integral of its magnitude; subtract its mean, or use a dirichlet condition";
    throw std::invalid_argument(text.str());
}

void check_arrays(MPI_Comm comm, const LinearSolver::Sources& f, const LinearSolver::Targets& x,
                  const domain::Decomposition& decomposition) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    const auto ids = decomposition.blocks_of(rank);
    const auto matches = [&](const auto& arrays) {
        bool fits = arrays.size() == ids.size();
        for (std::size_t b = 0; fits && b < ids.size(); ++b)
            fits = arrays[b].components() == 1 &&
                   arrays[b].box().contains(decomposition.block(ids[b]).cells);
        return fits;
    };
    int all = matches(f) && matches(x) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
    if (all == 0)
        throw std::invalid_argument("a linear solver needs cell-centred arrays with one component, "
                                    "on the blocks of its equation");
}

SolveReport LinearSolver::solve(const domain::Field<double>& f, domain::Field<double>& x) {
    return solve(domain::views(f), domain::views(x));
}

} // namespace uzushio::linalg
