#pragma once

#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "domain/box.hpp"
#include "domain/face.hpp"
#include "linalg/equation.hpp"
#include "solvers/thermal/parameters.hpp"

namespace uzushio::thermal {

/// Return the faces of the box that have a condition, with it, in the order of `domain::faces`.
[[nodiscard]] std::vector<std::pair<domain::Face, const FaceCondition*>>
named_faces(const FlowParameters& flow);

/// Return the length of the box along an axis.
[[nodiscard]] double length_of(const linalg::Axis& axis);

/// Return the area of a face of the box.
[[nodiscard]] double area_of(const domain::Face& face, const std::array<linalg::Axis, 3>& axes);

/// Return the component of a velocity along the normal of a face into the box.
[[nodiscard]] double inward(const domain::Face& face, const domain::Vector& velocity);

/// Return the equation of the pressure: its normal derivative is 0 at all boundaries.
[[nodiscard]] linalg::Equation
pressure_equation(std::shared_ptr<const domain::Decomposition> decomposition,
                  const FlowParameters& flow);

/// Volume that flows into the box in a unit of time, and the area of its outflow faces.
struct ThroughFlow {
    double inflow = 0;
    double outflow_area = 0;
};
/// Return the through-flow of a flow. `open_area` returns the area of a face of the box that no
/// body covers.
[[nodiscard]] ThroughFlow through_flow(const FlowParameters& flow,
                                       const std::function<double(const domain::Face&)>& open_area);

/// Return the cells of a box of cells that lie at a face of the mesh; may be empty.
[[nodiscard]] domain::Box<3> layer_at(const domain::Face& face, domain::Box<3> cells,
                                      const std::array<linalg::Axis, 3>& axes);

} // namespace uzushio::thermal
