#include "solvers/thermal/parameters.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "solvers/thermal/eddy_viscosity.hpp"

namespace uzushio::thermal {

namespace {

using Kind = FaceCondition::Kind;

/// Throws `std::invalid_argument` if the conditions of a body do not exist.
void check(const Body& body, std::size_t scalars) {
    if (!body.surface)
        throw std::invalid_argument("body " + body.name + " has no surface");
    if (body.scalars.size() != scalars)
        throw std::invalid_argument("body " + body.name + " has conditions for " +
                                    std::to_string(body.scalars.size()) + " scalars, not for " +
                                    std::to_string(scalars));
    for (const BodyCondition& condition : body.scalars)
        if (!(condition.conductivity > 0 && condition.capacity > 0))
            throw std::invalid_argument("the conductivity and the capacity of body " + body.name +
                                        " must be above 0");
}

} // namespace

std::vector<std::pair<Face, const FaceCondition*>> conditioned_faces(const FlowParameters& flow) {
    std::vector<std::pair<Face, const FaceCondition*>> conditions;
    for (const Face& face : domain::faces(flow.dimension))
        if (const auto at = flow.faces.find(face.name()); at != flow.faces.end())
            conditions.emplace_back(face, &at->second);
    return conditions;
}

std::shared_ptr<const domain::Mesh> mesh_of(const FlowParameters& flow) {
    auto vertices = flow.vertices;
    for (auto a = static_cast<std::size_t>(flow.dimension); a < 3; ++a)
        vertices[a] = {0, 1};
    return domain::box_mesh(flow.dimension, vertices,
                            [&](const Face& face) -> std::optional<std::string> {
                                if (flow.periodic[face.axis])
                                    return {};
                                return face.name();
                            });
}

FlowParameters checked(FlowParameters flow) {
    if (flow.dimension != 2 && flow.dimension != 3)
        throw std::invalid_argument("a flow has two or three dimensions");
    double inflow = 0;
    bool has_outflow = false;
    for (const Face& face : domain::faces(flow.dimension)) {
        const auto entry = flow.faces.find(face.name());
        const std::string where = "face " + face.name();
        if (flow.periodic[face.axis] != (entry == flow.faces.end()))
            throw std::invalid_argument(
                where + (flow.periodic[face.axis] ? " of a periodic axis has a boundary condition"
                                                  : " has no boundary condition"));
        if (entry == flow.faces.end())
            continue;
        const FaceCondition& condition = entry->second;
        if (condition.scalars.size() != flow.scalars.size())
            throw std::invalid_argument(where + " has conditions for " +
                                        std::to_string(condition.scalars.size()) +
                                        " scalars, not for " + std::to_string(flow.scalars.size()));
        const double in = inward_component(face, condition.velocity);
        if (condition.kind == Kind::wall && in != 0)
            throw std::invalid_argument(where + " is a wall that moves along its normal");
        if (condition.kind == Kind::inflow && !(in > 0))
            throw std::invalid_argument("the velocity at the inflow " + where +
                                        " does not point into the box");
        inflow += condition.kind == Kind::inflow ? in : 0;
        has_outflow = has_outflow || condition.kind == Kind::outflow;
    }
    if (inflow > 0 && !has_outflow)
        throw std::invalid_argument("the box has an inflow but no outflow: no flow without "
                                    "divergence exists");
    if (has_outflow && !(inflow > 0))
        throw std::invalid_argument("the box has an outflow but no inflow");
    for (const Body& body : flow.bodies)
        check(body, flow.scalars.size());
    for (const Scalar& scalar : flow.scalars)
        if (!(scalar.diffusivity > 0))
            throw std::invalid_argument("the diffusivity of " + scalar.name + " is not above 0");
    if (!(flow.viscosity >= 0))
        throw std::invalid_argument("the viscosity is negative");
    if (!(constant_of(flow.subgrid) >= 0 && flow.subgrid.prandtl > 0))
        throw std::invalid_argument("the constant of the subgrid model is negative, or its Prandtl "
                                    "number is not above 0");
    return flow;
}

} // namespace uzushio::thermal
