#include "phasefield/observed.hpp"

namespace uzushio::phasefield {

namespace {

/// Layers of a stack, with their frames one after the other. An exchange writes to frames alone.
std::vector<Layer<double>> layers_of(const Stack& stack, std::size_t count, double* frames,
                                     std::size_t frame) {
    std::vector<Layer<double>> layers(count);
    for (std::size_t i = 0; i < count; ++i)
        layers[i] = {const_cast<double*>(stack.data) +
                         static_cast<std::ptrdiff_t>(i) * stack.stride,
                     stack.pitch, frames + i * frame};
    return layers;
}

} // namespace

Observed::Observed(const Frame& frame, std::vector<int> steps, Stack values, Stack weights,
                   double weight)
    : frame_(&frame), index_of_(steps.empty() ? 0 : static_cast<std::size_t>(steps.back()) + 1, -1),
      values_(values), weights_(weights), weight_(weight) {
    for (std::size_t i = 0; i < steps.size(); ++i)
        index_of_[static_cast<std::size_t>(steps[i])] = static_cast<int>(i);
    if (frame.width() == 0)
        return;
    value_frames_.resize(steps.size() * frame.size());
    frame.exchange(layers_of(values, steps.size(), value_frames_.data(), frame.size()));
    if (!uniform()) {
        const std::size_t count = weights.stride == 0 ? 1 : steps.size();
        weight_frames_.resize(count * frame.size());
        frame.exchange(layers_of(weights, count, weight_frames_.data(), frame.size()));
    }
}

Layer<const double> Observed::values(int index) const {
    return {values_.data + index * values_.stride, values_.pitch,
            value_frames_.data() + static_cast<std::size_t>(index) * frame_->size()};
}

Layer<const double> Observed::weights(int index) const {
    const int layer = weights_.stride == 0 ? 0 : index;
    return {weights_.data + layer * weights_.stride, weights_.pitch,
            weight_frames_.data() + static_cast<std::size_t>(layer) * frame_->size()};
}

SeenRow Observed::row(int step, int y, int strip) const {
    const auto at = static_cast<std::size_t>(step);
    const int index = at < index_of_.size() ? index_of_[at] : -1;
    if (index < 0)
        return {};
    const auto input = [&](const Layer<const double>& layer) {
        return Input{frame_->row(layer, y, strip), rows_ahead * frame_->pitch(layer, strip)};
    };
    return {input(values(index)), uniform() ? Input{} : input(weights(index)), weight_};
}

} // namespace uzushio::phasefield
