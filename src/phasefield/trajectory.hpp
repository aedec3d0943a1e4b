#pragma once

#include <cstddef>

#include "parallel/aligned_array.hpp"
#include "phasefield/frame.hpp"

namespace uzushio::phasefield {

/// A field at consecutive steps, on this rank's tile and the frame around it. Memory is taken once
/// and kept for further runs; rows begin on boundaries of 64 bytes.
class Trajectory {
  public:
    /// Room for `steps` steps, of which each `every`-th is kept, from the first on. `frame` must
    /// outlive the trajectory.
    Trajectory(const Frame& frame, int steps, int every = 1);

    /// What follows is written for steps first to last - 1.
    void begin(int first, int last);
    [[nodiscard]] int first() const { return first_; }
    [[nodiscard]] int last() const { return last_; }
    [[nodiscard]] int steps() const { return steps_; }
    [[nodiscard]] bool holds(int first, int last) const { return first >= first_ && last <= last_; }
    [[nodiscard]] int every() const { return every_; }
    /// Whether a step of those that it holds is there.
    [[nodiscard]] bool keeps(int step) const { return (step - first_) % every_ == 0; }
    /// The last step before `step` that is kept.
    [[nodiscard]] int kept_before(int step) const {
        return first_ + (step - 1 - first_) / every_ * every_;
    }
    [[nodiscard]] const Frame& frame() const { return *frame_; }
    [[nodiscard]] const stencil::Rect& own() const { return frame_->own(); }
    [[nodiscard]] std::size_t bytes() const { return tiles_.bytes() + frames_.bytes(); }

    /// Of a step that is kept.
    [[nodiscard]] Layer<double> layer(int step) {
        return {tiles_.data() + index(step) * tile_, pitch_,
                frames_.data() + index(step) * frame_->size()};
    }
    [[nodiscard]] Layer<const double> layer(int step) const {
        return {tiles_.data() + index(step) * tile_, pitch_,
                frames_.data() + index(step) * frame_->size()};
    }

    /// A tile for the step after the last, rows one after the other, as if a sweep had written it.
    void append(const double* tile);

    /// Fill the frames of all steps from the neighbours, once after each `begin` (collective).
    /// Returns what this rank sent.
    stencil::Sent fill_frames();

    /// The tile of a step that is kept, rows one after the other; throws `std::out_of_range`.
    void copy(int step, double* to) const;

  private:
    [[nodiscard]] std::size_t index(int step) const {
        return static_cast<std::size_t>((step - first_) / every_);
    }

    const Frame* frame_;
    int steps_;
    int every_;
    int first_ = 0;
    int last_ = 0;
    bool framed_ = false;
    std::ptrdiff_t pitch_;
    std::size_t tile_;
    parallel::AlignedArray<double> tiles_;
    parallel::AlignedArray<double> frames_;
};

} // namespace uzushio::phasefield
