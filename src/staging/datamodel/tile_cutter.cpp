#include "staging/datamodel/tile_cutter.hpp"

#include <algorithm>

namespace uzushio::staging {

TileCutter::TileCutter(const Extent& count, std::int64_t components, std::int64_t scalar_bytes,
                       ComponentOrder order, std::int64_t max_bytes)
    : count_(count), components_(components), component_step_(components), step_(count) {
    const std::int64_t all = Box::of(count).volume() * components * scalar_bytes;
    if (all == 0) {
        component_ = components_;
        return;
    }
    if (order == ComponentOrder::planar && all > max_bytes)
        component_step_ = 1;
    if (component_step_ * scalar_bytes > max_bytes)
        component_step_ = std::max<std::int64_t>(1, max_bytes / scalar_bytes);
    // Whole planes if one fits, else whole rows, else parts of a row.
    std::int64_t unit = component_step_ * scalar_bytes;
    for (std::size_t axis = 3; axis-- > 0;) {
        const std::int64_t fit = std::max<std::int64_t>(1, max_bytes / unit);
        step_[axis] = std::min(count[axis], fit);
        unit *= step_[axis];
        if (step_[axis] < count[axis]) {
            for (std::size_t outer = 0; outer < axis; ++outer)
                step_[outer] = 1;
            break;
        }
    }
}

TileCutter::TileCutter(const Extent& count, std::int64_t components, const Extent& step,
                       std::int64_t component_step)
    : count_(count), components_(components), component_step_(component_step), step_(step),
      component_(Box::of(count).empty() ? components : 0) {}

std::optional<Tile> TileCutter::next() {
    if (component_ == components_)
        return {};
    const Tile tile{intersect(Box::at(at_, step_), Box::of(count_)), component_,
                    std::min(component_step_, components_ - component_)};
    for (std::size_t axis = 3; axis-- > 0;) {
        at_[axis] += step_[axis];
        if (at_[axis] < count_[axis])
            return tile;
        at_[axis] = 0;
    }
    component_ += tile.components;
    return tile;
}

} // namespace uzushio::staging
