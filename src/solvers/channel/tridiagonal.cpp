#include "solvers/channel/tridiagonal.hpp"

#include <stdexcept>
#include <string>

#include "solvers/channel/partitioned.hpp"
#include "solvers/channel/pipelined.hpp"
#include "solvers/channel/transposed.hpp"

namespace uzushio::channel {

namespace {

using Maker = std::unique_ptr<TridiagonalSolver> (*)(const TridiagonalSetup&);

struct Scheme {
    std::string_view name;
    Maker make;
};

template <class T> std::unique_ptr<TridiagonalSolver> make(const TridiagonalSetup& setup) {
    return std::make_unique<T>(setup);
}

constexpr Scheme schemes[] = {{"pipelined", make<Pipelined>},
                              {"transpose", make<Transposed>},
                              {"partitioned", make<Partitioned>}};

} // namespace

std::unique_ptr<TridiagonalSolver> make_tridiagonal(std::string_view scheme,
                                                    const TridiagonalSetup& setup) {
    for (const auto& [name, maker] : schemes)
        // One rank in z holds whole columns: there is nothing to transpose.
        if (name == scheme)
            return setup.grid.pz() == 1 ? make<Pipelined>(setup) : maker(setup);
    throw std::invalid_argument("unknown tridiagonal scheme '" + std::string(scheme) +
                                "'; must be 'pipelined', 'transpose' or 'partitioned'");
}

} // namespace uzushio::channel
