#include "phasefield/trajectory.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace uzushio::phasefield {

namespace {

constexpr std::ptrdiff_t boundary = 64 / sizeof(double);

std::ptrdiff_t rounded_up(std::ptrdiff_t values) {
    return (values + boundary - 1) / boundary * boundary;
}

} // namespace

Trajectory::Trajectory(const Frame& frame, int steps, int every)
    : frame_(&frame), steps_(steps), every_(every), pitch_(rounded_up(frame.own().x.size())),
      tile_(static_cast<std::size_t>(pitch_ * frame.own().y.size())),
      tiles_(tile_ * static_cast<std::size_t>((steps + every - 1) / every)),
      frames_(frame.size() * static_cast<std::size_t>((steps + every - 1) / every)) {}

void Trajectory::begin(int first, int last) {
    if (last - first > steps_)
        throw std::logic_error("phasefield: the trajectory has no room for these steps");
    first_ = first;
    last_ = last;
    framed_ = false;
}

void Trajectory::append(const double* tile) {
    if (last_ - first_ >= steps_)
        throw std::logic_error("phasefield: the trajectory has no room for another step");
    if (keeps(last_)) {
        const auto to = layer(last_);
        for (std::ptrdiff_t y = 0; y < own().y.size(); ++y, tile += own().x.size())
            std::copy_n(tile, own().x.size(), to.own + y * to.pitch);
    }
    ++last_;
    framed_ = false;
}

stencil::Sent Trajectory::fill_frames() {
    if (framed_)
        return {};
    std::vector<Layer<double>> layers;
    for (int step = first_; step < last_; step += every_)
        layers.push_back(layer(step));
    framed_ = true;
    return frame_->exchange(layers);
}

void Trajectory::copy(int step, double* to) const {
    if (!holds(step, step + 1) || !keeps(step))
        throw std::out_of_range("phasefield: the trajectory holds steps " + std::to_string(first_) +
                                " to " + std::to_string(last_ - 1) +
                                (every_ > 1 ? ", each " + std::to_string(every_) + "th" : "") +
                                ", not " + std::to_string(step));
    const auto tile = layer(step);
    for (std::ptrdiff_t y = 0; y < own().y.size(); ++y)
        to = std::copy_n(tile.own + y * tile.pitch, own().x.size(), to);
}

} // namespace uzushio::phasefield
