#include "stencil/blocking_scheme.hpp"

#include <algorithm>
#include <stdexcept>

#include "stencil/scheme_plans.hpp"

namespace uzushio::stencil {

namespace {

constexpr BlockingScheme table[] = {
    {"plain", "one exchange per step", true, false,
     [](const Tiling& tiling, int margin) {
         return std::min(1, max_trapezoid_steps(tiling, margin));
     },
     trapezoid},
    {"pa1", "one exchange per block; both neighbours compute the slopes at their border", true,
     false, max_trapezoid_steps, trapezoid},
    {"pa2",
     "one exchange per block, after the points that are independent of it; half the redundant "
     "points",
     false, false, [](const Tiling& tiling, int) { return max_trapezoid_steps(tiling, 0); }, pa2},
    {"diamond", "three messages per block; no redundant points; tiles move", false, true,
     max_diamond_steps, diamond},
};

} // namespace

std::span<const BlockingScheme> schemes() { return table; }

const BlockingScheme& find_scheme(std::string_view name) {
    for (const BlockingScheme& scheme : table)
        if (scheme.name == name)
            return scheme;
    std::string names;
    for (const BlockingScheme& scheme : table) {
        if (!names.empty())
            names += ", ";
        names += scheme.name;
    }
    throw std::invalid_argument("'" + std::string(name) +
                                "' is not a scheme of time blocking; available schemes are " +
                                names);
}

} // namespace uzushio::stencil
