#include "linalg/tridiagonal.hpp"

#include <stdexcept>
#include <string>

#include "linalg/pipelined.hpp"
#include "linalg/transposed.hpp"

namespace uzushio::linalg {

namespace {

using Maker = std::unique_ptr<TridiagonalSolver> (*)(const Column&);

struct Scheme {
    std::string_view name;
    Maker make;
};

template <class T> std::unique_ptr<TridiagonalSolver> make(const Column& column) {
    return std::make_unique<T>(column);
}

constexpr Scheme schemes[] = {{"pipelined", make<Pipelined>}, {"transpose", make<Transposed>}};

} // namespace

std::unique_ptr<TridiagonalSolver> make_tridiagonal(std::string_view scheme, const Column& column) {
    for (const auto& [name, maker] : schemes)
        // A rank that holds whole columns has nothing to transpose.
        if (name == scheme)
            return column.grid.pz() == 1 ? make<Pipelined>(column) : maker(column);
    throw std::invalid_argument("no tridiagonal scheme is called '" + std::string(scheme) +
                                "'; there are 'pipelined' and 'transpose'");
}

} // namespace uzushio::linalg
