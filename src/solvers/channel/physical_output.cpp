#include "solvers/channel/physical_output.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "parallel/threads.hpp"

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
    : solver_(solver), records_(Convection::parts(solver.parameters(), solver.planes().size()),
                                solver.sections(), traffic_) {
    const int parts = Convection::parts(solver.parameters(), solver.planes().size());
    for (int part = 0; part < parts; ++part) {
        const bool own_grid = solver.grid().py() > 1 && part + 1 < parts;
        if (own_grid)
            grids_.push_back(solver.grid().duplicate());
        transforms_.emplace_back(own_grid ? grids_.back() : solver.grid(), output_modes(solver), 1,
                                 1, records_.sections(part), records_.traffic(part));
        lines_.emplace_back(static_cast<std::size_t>(solver.parameters().nx));
    }
}

std::size_t PhysicalOutput::plane_size() const {
    return static_cast<std::size_t>(rows().size()) *
           static_cast<std::size_t>(solver_.parameters().nx);
}

template <class Call> void PhysicalOutput::on_parts(Call&& call) {
    solver_.sections().mark();
    const int parts = static_cast<int>(transforms_.size());
    parallel::on_threads(solver_.parameters().threads, parts, [&](int part) {
        call(part, parallel::block(solver_.planes().size(), parts, part));
    });
    records_.collect();
}

void PhysicalOutput::write_plane(int part, const Planes& field, int k, double* to) {
    auto& transform = transforms_[static_cast<std::size_t>(part)];
    auto& line = lines_[static_cast<std::size_t>(part)];
    transform.begin_inverse(0, field, k, 1, {0, field.planes});
    transform.end_inverse(0);
    for (int r = 0; r < rows().size(); ++r) {
        transform.to_physical(0, 0, r, line.data());
        to = std::copy(line.begin(), line.end(), to);
    }
    records_.sections(part).lap(parallel::section::fft,
                                {.flops = transform.row_flops() * rows().size()});
}

void PhysicalOutput::write(const Planes& field, std::span<double> out) {
    assert(out.size() == static_cast<std::size_t>(field.planes) * plane_size());
    on_parts([&](int part, parallel::Range planes) {
        for (int k = planes.begin; k < planes.end; ++k)
            write_plane(part, field, k, out.data() + static_cast<std::size_t>(k) * plane_size());
    });
}

void PhysicalOutput::write_pressure(std::span<double> out) {
    const auto w = solver_.velocity().w;
    Planes ghost = w; // plane of the face below the first cell
    ghost.base = w.re(-1);
    ghost.planes = 1;
    const auto size = plane_size();
    assert(out.size() == static_cast<std::size_t>(w.planes) * size);
    on_parts([&](int part, parallel::Range planes) {
        std::vector<double> below(size), above(size);
        if (planes.begin == 0)
            write_plane(part, ghost, 0, below.data());
        else
            write_plane(part, w, planes.begin - 1, below.data());
        for (int k = planes.begin; k < planes.end; ++k) {
            double* to = out.data() + static_cast<std::size_t>(k) * size;
            write_plane(part, solver_.pressure(), k, to);
            write_plane(part, w, k, above.data());
            for (std::size_t i = 0; i < size; ++i) {
                const double centre = 0.5 * (below[i] + above[i]);
                to[i] -= centre * centre;
            }
            below.swap(above);
        }
    });
}

} // namespace uzushio::channel
