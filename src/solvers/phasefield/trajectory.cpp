#include "solvers/phasefield/trajectory.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace uzushio::phasefield {

namespace {

constexpr std::ptrdiff_t alignment = 64 / sizeof(double);

std::ptrdiff_t rounded_up(std::ptrdiff_t values) {
    return (values + alignment - 1) / alignment * alignment;
}

} // namespace

Trajectory::Trajectory(const TileHalo& halo, int steps, int interval)
    : halo_(&halo), steps_(steps), interval_(interval), pitch_(rounded_up(halo.own().x.size())),
      tile_(static_cast<std::size_t>(pitch_ * halo.own().y.size())),
      tiles_(tile_ * static_cast<std::size_t>((steps + interval - 1) / interval)),
      halos_(halo.size() * static_cast<std::size_t>((steps + interval - 1) / interval)) {}

void Trajectory::begin(int first, int last) {
    if (last - first > steps_)
        throw std::logic_error("phasefield: the steps exceed the size of the trajectory");
    first_ = first;
    last_ = last;
    halos_filled_ = false;
}

void Trajectory::append(std::span<const double> tile) {
    if (tile.size() != static_cast<std::size_t>(own().points()))
        throw std::invalid_argument("phasefield: a field has not the size of this rank's tile");
    if (last_ - first_ >= steps_)
        throw std::logic_error("phasefield: the trajectory is full");
    if (stores(last_)) {
        const auto to = field(last_);
        const double* from = tile.data();
        for (std::ptrdiff_t y = 0; y < own().y.size(); ++y, from += own().x.size())
            std::copy_n(from, own().x.size(), to.tile + y * to.pitch);
    }
    ++last_;
    halos_filled_ = false;
}

stencil::MessageCount Trajectory::fill_halos() {
    if (halos_filled_)
        return {};
    std::vector<HaloField<double>> fields;
    for (int step = first_; step < last_; step += interval_)
        fields.push_back(field(step));
    halos_filled_ = true;
    return halo_->exchange(fields);
}

void Trajectory::copy(int step, double* to) const {
    if (!covers(step, step + 1) || !stores(step))
        throw std::out_of_range(
            "phasefield: the trajectory covers steps " + std::to_string(first_) + " to " +
            std::to_string(last_ - 1) +
            (interval_ > 1 ? " at an interval of " + std::to_string(interval_) : "") + ", not " +
            std::to_string(step));
    const auto tile = field(step);
    for (std::ptrdiff_t y = 0; y < own().y.size(); ++y)
        to = std::copy_n(tile.tile + y * tile.pitch, own().x.size(), to);
}

} // namespace uzushio::phasefield
