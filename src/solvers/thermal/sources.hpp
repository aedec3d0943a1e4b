#pragma once

#include "domain/box.hpp"
#include "domain/view.hpp"
#include "solvers/thermal/parameters.hpp"

namespace uzushio::thermal {

/// Add a source to the time derivative of the values in `box`: at cells, or at faces normal to axis
/// `normal` if it is below 3. A null source adds nothing.
void add_source(const FlowParameters& flow, const Source& source, double time, std::size_t normal,
                const Box<3>& box, const View<double>& derivative);

} // namespace uzushio::thermal
