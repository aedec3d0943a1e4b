#include "solvers/thermal/box_faces.hpp"

#include <numeric>

namespace uzushio::thermal {

using domain::Box;
using domain::Face;

std::vector<std::pair<Face, const FaceCondition*>> named_faces(const FlowParameters& flow) {
    std::vector<std::pair<Face, const FaceCondition*>> found;
    for (const Face& face : domain::faces(flow.dimension))
        if (const auto at = flow.faces.find(face.name()); at != flow.faces.end())
            found.emplace_back(face, &at->second);
    return found;
}

double length_of(const linalg::Axis& axis) {
    return std::accumulate(axis.widths.begin(), axis.widths.end(), 0.0);
}

double area_of(const Face& face, const std::array<linalg::Axis, 3>& axes) {
    double area = 1;
    for (std::size_t a = 0; a < 3; ++a)
        area *= a == face.axis ? 1 : length_of(axes[a]);
    return area;
}

double inward(const Face& face, const domain::Vector& velocity) {
    return (face.is_upper() ? -1 : 1) * velocity[face.axis];
}

linalg::Equation pressure_equation(std::shared_ptr<const domain::Decomposition> decomposition,
                                   const FlowParameters& flow) {
    linalg::Equation equation{.decomposition = std::move(decomposition)};
    for (const auto& [name, condition] : flow.faces)
        equation.conditions[name] = linalg::Condition::neumann;
    return equation;
}

ThroughFlow through_flow(const FlowParameters& flow,
                         const std::function<double(const Face&)>& open_area) {
    ThroughFlow found;
    for (const auto& [face, condition] : named_faces(flow)) {
        if (condition->kind == FaceCondition::Kind::inflow)
            found.inflow += inward(face, condition->velocity) * open_area(face);
        if (condition->kind == FaceCondition::Kind::outflow)
            found.outflow_area += open_area(face);
    }
    return found;
}

Box<3> layer_at(const Face& face, Box<3> cells, const std::array<linalg::Axis, 3>& axes) {
    const std::int64_t n = axes[face.axis].cells();
    cells.lower[face.axis] =
        std::max<std::int64_t>(cells.lower[face.axis], face.is_upper() ? n - 1 : 0);
    cells.upper[face.axis] =
        std::min<std::int64_t>(cells.upper[face.axis], face.is_upper() ? n : 1);
    return cells;
}

} // namespace uzushio::thermal
