#include "channel/physical.hpp"

#include <cassert>
#include <vector>

namespace uzushio::channel {

namespace {

spectral::Modes output_modes(const Solver& solver) {
    const auto& p = solver.parameters();
    auto modes = spectral::Modes::of(p.nx, p.ny, p.dealiasing);
    modes.mx = p.nx;
    modes.my = p.ny;
    return modes;
}

} // namespace

Physical::Physical(Solver& solver)
    : solver_(solver), transform_(solver.grid(), output_modes(solver), 1, 1, watch_, traffic_) {}

void Physical::write(const parallel::Planes& field, std::span<double> out) {
    const int nx = transform_.modes().mx;
    assert(out.size() == static_cast<std::size_t>(field.planes * rows().size() * nx));
    parallel::AlignedArray<double> row(static_cast<std::size_t>(nx));
    auto to = out.begin();
    for (int k = 0; k < field.planes; ++k) {
        transform_.begin_inverse(0, field, k, 1, {0, field.planes});
        transform_.end_inverse(0);
        for (int r = 0; r < rows().size(); ++r) {
            transform_.to_physical(0, 0, r, row.data());
            to = std::copy_n(row.data(), nx, to);
        }
    }
}

void Physical::write_pressure(std::span<double> out) {
    write(solver_.pressure(), out);
    const auto w = solver_.velocity().w;
    std::vector<double> faces(out.size());
    write(w, faces);
    parallel::Planes below = w; // the face below the first cell
    below.base = w.re(-1);
    below.planes = 1;
    const auto plane = out.size() / static_cast<std::size_t>(w.planes);
    std::vector<double> lower(plane);
    write(below, lower);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double w_below = i < plane ? lower[i] : faces[i - plane];
        const double centre = 0.5 * (w_below + faces[i]);
        out[i] -= centre * centre;
    }
}

} // namespace uzushio::channel
