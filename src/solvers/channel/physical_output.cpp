#include "solvers/channel/physical_output.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

namespace uzushio::channel {

namespace {

Modes output_modes(const Solver& solver) {
    const auto& p = solver.parameters();
    auto modes = Modes::of(p.nx, p.ny, p.dealiasing);
    modes.mx = p.nx;
    modes.my = p.ny;
    return modes;
}

} // namespace

PhysicalOutput::PhysicalOutput(Solver& solver)
    : solver_(solver),
      transform_(solver.grid(), output_modes(solver), 1, 1, solver.sections(), traffic_),
      row_(static_cast<std::size_t>(transform_.modes().mx)) {}

std::size_t PhysicalOutput::plane_size() const {
    return static_cast<std::size_t>(rows().size()) *
           static_cast<std::size_t>(transform_.modes().mx);
}

void PhysicalOutput::write_plane(const Planes& field, int k, double* to) {
    const int nx = transform_.modes().mx;
    transform_.begin_inverse(0, field, k, 1, {0, field.planes});
    transform_.end_inverse(0);
    for (int r = 0; r < rows().size(); ++r) {
        transform_.to_physical(0, 0, r, row_.data());
        to = std::copy_n(row_.data(), nx, to);
    }
    solver_.sections().lap(parallel::section::fft,
                           {.flops = transform_.row_flops() * rows().size()});
}

void PhysicalOutput::write(const Planes& field, std::span<double> out) {
    assert(out.size() == static_cast<std::size_t>(field.planes) * plane_size());
    solver_.sections().mark();
    for (int k = 0; k < field.planes; ++k)
        write_plane(field, k, out.data() + static_cast<std::size_t>(k) * plane_size());
}

void PhysicalOutput::write_pressure(std::span<double> out) {
    const auto w = solver_.velocity().w;
    Planes ghost = w; // plane of the face below the first cell
    ghost.base = w.re(-1);
    ghost.planes = 1;
    const auto size = plane_size();
    assert(out.size() == static_cast<std::size_t>(w.planes) * size);
    std::vector<double> below(size), above(size);
    solver_.sections().mark();
    write_plane(ghost, 0, below.data());
    for (int k = 0; k < w.planes; ++k) {
        double* to = out.data() + static_cast<std::size_t>(k) * size;
        write_plane(solver_.pressure(), k, to);
        write_plane(w, k, above.data());
        for (std::size_t i = 0; i < size; ++i) {
            const double centre = 0.5 * (below[i] + above[i]);
            to[i] -= centre * centre;
        }
        below.swap(above);
    }
}

} // namespace uzushio::channel
