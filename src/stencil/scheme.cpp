#include "stencil/scheme.hpp"

#include <algorithm>
#include <stdexcept>

#include "stencil/diamond.hpp"
#include "stencil/pa2.hpp"
#include "stencil/trapezoid.hpp"

namespace uzushio::stencil {

namespace {

constexpr Scheme table[] = {
    {"plain", "an exchange a step", true, false,
     [](const Tiling& tiling, int margin) {
         return std::min(1, most_trapezoid_steps(tiling, margin));
     },
     trapezoid},
    {"pa1", "an exchange a block; slopes are computed on both sides of a border", true, false,
     most_trapezoid_steps, trapezoid},
    {"pa2", "an exchange a block, after what a tile can do alone; half the redundant points", false,
     false, [](const Tiling& tiling, int) { return most_trapezoid_steps(tiling, 0); }, pa2},
    {"diamond", "three messages a block; no redundant points; tiles move", false, true,
     most_diamond_steps, diamond},
};

} // namespace

std::span<const Scheme> schemes() { return table; }

const Scheme& find_scheme(std::string_view name) {
    for (const Scheme& scheme : table)
        if (scheme.name == name)
            return scheme;
    std::string names;
    for (const Scheme& scheme : table) {
        if (!names.empty())
            names += ", ";
        names += scheme.name;
    }
    throw std::invalid_argument("'" + std::string(name) +
                                "' is no scheme of time blocking; there are " + names);
}

} // namespace uzushio::stencil
