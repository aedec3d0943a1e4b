#include "solvers/thermal/box_faces.hpp"

namespace uzushio::thermal {

std::vector<std::pair<Face, const FaceCondition*>> named_faces(const FlowParameters& flow) {
    std::vector<std::pair<Face, const FaceCondition*>> found;
    for (const Face& face : domain::faces(flow.dimension))
        if (const auto at = flow.faces.find(face.name()); at != flow.faces.end())
            found.emplace_back(face, &at->second);
    return found;
}

double inward(const Face& face, const Vector& velocity) {
    return (face.is_upper() ? -1 : 1) * velocity[face.axis];
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

} // namespace uzushio::thermal
