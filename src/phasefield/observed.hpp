#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phasefield/frame.hpp"
#include "phasefield/rows.hpp"

namespace uzushio::phasefield {

/// Rows of doubles that the caller owns: `pitch` from one row to the next, `stride` from one layer
/// to the next, in values.
struct Stack {
    const double* data = nullptr;
    std::ptrdiff_t pitch = 0;
    std::ptrdiff_t stride = 0;
};

/// What was seen at some of the steps: the caller's arrays of this rank's tile, which must outlive
/// this, and copies of the neighbours' edges in the frame.
class Observed {
  public:
    /// `weights`: data null for the one `weight` everywhere; stride 0 for the same at all steps.
    /// `steps` increase, and are the same on all ranks (collective if the frame is not empty).
    Observed(const Frame& frame, std::vector<int> steps, Stack values, Stack weights,
             double weight);

    [[nodiscard]] bool uniform() const { return weights_.data == nullptr; }
    /// What sums of the misfit's rows are to be multiplied with.
    [[nodiscard]] double factor() const { return uniform() ? weight_ : 1.0; }
    [[nodiscard]] std::size_t bytes() const {
        return (value_frames_.size() + weight_frames_.size()) * sizeof(double);
    }

    /// Row y of a step as seen, for the columns of one piece of `Frame::cut`.
    [[nodiscard]] SeenRow row(int step, int y, int strip) const;

  private:
    [[nodiscard]] Layer<const double> values(int index) const;
    [[nodiscard]] Layer<const double> weights(int index) const;

    const Frame* frame_;
    std::vector<int> index_of_; ///< of a step in `values`, or -1
    Stack values_, weights_;
    double weight_;
    std::vector<double> value_frames_, weight_frames_;
};

} // namespace uzushio::phasefield
