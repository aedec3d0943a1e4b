#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "domain/face.hpp"
#include "solvers/thermal/parameters.hpp"

namespace uzushio::thermal {

/// Return the faces of the box that have a condition, with it, in the order of `domain::faces`.
[[nodiscard]] std::vector<std::pair<Face, const FaceCondition*>>
named_faces(const FlowParameters& flow);

/// Return the component of a velocity along the normal of a face into the box.
[[nodiscard]] double inward(const Face& face, const Vector& velocity);

/// Volume that flows into the box in a unit of time, and the area of its outflow faces.
struct ThroughFlow {
    double inflow = 0;
    double outflow_area = 0;
};
/// Return the through-flow of a flow. `open_area` returns the area of a face of the box that no
/// body covers.
[[nodiscard]] ThroughFlow through_flow(const FlowParameters& flow,
                                       const std::function<double(const Face&)>& open_area);

} // namespace uzushio::thermal
