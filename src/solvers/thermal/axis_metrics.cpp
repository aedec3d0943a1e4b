#include "solvers/thermal/axis_metrics.hpp"

namespace uzushio::thermal {

AxisMetrics::AxisMetrics(const linalg::Axis& axis, int ghosts)
    : cells_(axis.cells()), ghosts_(ghosts) {
    const auto width = [&](std::int64_t cell) {
        if (axis.periodic())
            cell = (cell % cells_ + cells_) % cells_;
        else if (cell < 0)
            cell = std::min(-cell - 1, cells_ - 1);
        else if (cell >= cells_)
            cell = std::max<std::int64_t>(2 * cells_ - cell - 1, 0);
        return axis.widths[static_cast<std::size_t>(cell)];
    };
    for (std::int64_t c = -ghosts; c < cells_ + ghosts; ++c) {
        const double above = width(c);
        const double below = width(c - 1);
        width_.push_back(above);
        inverse_width_.push_back(1 / above);
        inverse_distance_.push_back(2 / (below + above));
        share_below_.push_back(below / (below + above));
        share_above_.push_back(above / (below + above));
    }
}

} // namespace uzushio::thermal
