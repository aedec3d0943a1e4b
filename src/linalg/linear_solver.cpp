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

void check_field(const domain::Field<double>& field, const domain::Decomposition& decomposition,
                 int rank) {
    const auto ids = decomposition.blocks_of(rank);
    bool fits = field.blocks() == ids.size() && field.arrays() == 1 &&
                field.spec().components == 1 && field.spec().centring == domain::Centring::cell;
    for (std::size_t b = 0; fits && b < ids.size(); ++b)
        fits = field.owned(b) == decomposition.block(ids[b]).cells;
    if (!fits)
        throw std::invalid_argument("a linear solver needs cell-centred fields with one component, "
                                    "on the decomposition of its equation");
}

} // namespace uzushio::linalg
