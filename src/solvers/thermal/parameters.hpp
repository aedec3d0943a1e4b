#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "domain/face.hpp"
#include "domain/index.hpp"
#include "domain/mesh.hpp"
#include "domain/time_integrator.hpp"
#include "domain/view.hpp"
#include "geometry/surface.hpp"
#include "linalg/iterative_solver.hpp"

namespace uzushio::thermal {

using domain::Box;
using domain::Face;
using domain::Index;
using domain::moved;
using domain::Vector;
using domain::View;

/// Advection scheme: central is second order and conserves energy; van_leer is second order away
/// from extrema and dissipates (upwind, limiter of van Leer), and keeps scalars within their
/// bounds.
enum class Scheme { central, van_leer };

/// Condition of a scalar at a face of the box: a value, or the diffusive flux into the box.
struct ScalarCondition {
    bool fixed = false;
    double value = 0; ///< at the face, or (flux) diffusivity times the gradient along the inward
                      ///< normal, with the opposite sign
};

/// Boundary condition of the flow at a face of the box.
struct FaceCondition {
    /// wall: no slip; inflow: velocity and scalars are given; outflow: convected by the mean
    /// velocity, whose flux is that of the inflow; symmetry: no normal velocity, no stress.
    enum class Kind { wall, inflow, outflow, symmetry };
    Kind kind = Kind::wall;
    Vector velocity{};                      ///< of the wall or of the inflow
    std::vector<ScalarCondition> scalars{}; ///< for each scalar
};

/// Addition to the time derivative of a quantity at a position and time; null: none.
using Source = std::function<double(const Vector& at, double time)>;

/// Scalar that the flow carries. Its buoyancy is an acceleration along each axis,
/// `buoyancy * (value - reference)`.
struct Scalar {
    std::string name;
    double diffusivity = 0;
    Vector buoyancy{};
    double reference = 0;
    std::string unit = "1";
    Source source{};
};

/// Condition of a scalar at the surface of a body.
struct BodyCondition {
    /// flux: the diffusive flux into the flow is given; fixed: the value; conjugate: the scalar
    /// diffuses in the body too.
    enum class Kind { flux, fixed, conjugate };
    Kind kind = Kind::flux;
    double value = 0; ///< flux or value; conjugate: source in the body, per volume
    /// Of the body, over those of the fluid: product of diffusivity and capacity, and capacity for
    /// each volume. Only conjugate.
    double conductivity = 1, capacity = 1;
};

/// Solid body at rest in the flow. The velocity at its surface is 0.
struct Body {
    std::string name;
    std::shared_ptr<const geometry::Surface> surface;
    std::vector<BodyCondition> scalars{}; ///< for each scalar
};

/// Model of the stress of eddies that are smaller than cells (large-eddy simulation).
struct SubgridModel {
    enum class Kind { none, smagorinsky, wale, vreman };
    Kind kind = Kind::none;
    std::optional<double> constant{}; ///< null: see `constant_of`
    double prandtl = 0.9;             ///< eddy viscosity over the eddy diffusivity of scalars
};

/// Incompressible flow with scalars in a box: du/dt + div(u u) = -grad p + div(nu grad u) + force +
/// buoyancy, div u = 0, ds/dt + div(u s) = div(kappa grad s). Density is 1.
struct FlowParameters {
    int dimension = 3;
    std::array<std::vector<double>, 3> vertices; ///< ascending, along each axis
    std::array<bool, 3> periodic{};
    std::map<std::string, FaceCondition> faces; ///< by `Face::name`, of the axes not periodic
    double viscosity = 0;
    Vector force{};
    std::array<Source, 3> sources{}; ///< of the velocity components
    std::vector<Scalar> scalars;
    std::vector<Body> bodies;
    std::vector<Vector> seeds; ///< points in the fluid, see `geometry::find_regions`
    SubgridModel subgrid{};
    Scheme scheme = Scheme::central;
    domain::TimeScheme time_scheme = domain::TimeScheme::wray_rk3;
    std::string solver = "auto"; ///< of the pressure, see `linalg::solver_names`
    linalg::IterationLimits limits{};
    domain::PartCounts counts{}; ///< blocks along the axes, one for each rank; zero: automatic
};

/// Return the faces of the box that have a condition, with it, in the order of `domain::faces`.
[[nodiscard]] std::vector<std::pair<Face, const FaceCondition*>>
conditioned_faces(const FlowParameters& flow);

/// Return the component of a velocity along the normal of a face into the box.
[[nodiscard]] inline double inward_component(const Face& face, const Vector& velocity) {
    return (face.is_upper() ? -1 : 1) * velocity[face.axis];
}

/// Return the mesh of the box: one zone, whose boundaries have the names of their faces.
[[nodiscard]] std::shared_ptr<const domain::Mesh> mesh_of(const FlowParameters& flow);

/// Return the parameters. Throws `std::invalid_argument` if they contradict each other.
[[nodiscard]] FlowParameters checked(FlowParameters flow);

} // namespace uzushio::thermal
