#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "domain/decomposition.hpp"
#include "domain/field.hpp"

namespace uzushio::linalg {

/// Condition of an unknown at a face of its mesh. `dirichlet`: the value is given; `neumann`: the
/// derivative along the normal is given.
enum class Condition { periodic, dirichlet, neumann };

/// Poisson or Helmholtz equation div(b grad x) - s x = f in cells of a rectilinear mesh, second
/// order: fluxes are central differences through cell faces.
///
/// The operators and solvers are those of homogeneous conditions. `add_boundary_values` moves other
/// values to the right-hand side.
struct Equation {
    /// One zone, uniform or rectilinear, with one condition or connection for each whole face.
    std::shared_ptr<const domain::Decomposition> decomposition;
    /// `dirichlet` or `neumann` for the name of each boundary condition of the mesh.
    std::map<std::string, Condition> conditions{};
    double s = 0; ///< not negative
    /// b on cell faces, positive, or zero on faces that let nothing pass; null: 1 everywhere. In an
    /// isolated cell (s = 0, and b = 0 on all faces, such as inside a body) the right-hand side
    /// must be 0, and so is x; means and compatibility are those of the other cells.
    std::shared_ptr<const domain::Field<double>> b{};
};

/// One axis of the mesh of an equation.
struct Axis {
    std::vector<double> widths;      ///< of the cells
    std::array<Condition, 2> ends{}; ///< at the lower and at the upper face
    bool uniform = true;             ///< widths are equal to round-off
    bool used = true;                ///< false: one cell that exchanges nothing along the axis

    [[nodiscard]] int cells() const { return static_cast<int>(widths.size()); }
    [[nodiscard]] bool periodic() const { return ends[0] == Condition::periodic; }
    /// Return the reciprocal of the distance over which the flux through face `face`, 0 … cells(),
    /// is a difference: that of the centres beside it, or of a centre and a Dirichlet boundary; 0
    /// at a Neumann boundary.
    [[nodiscard]] double reciprocal_distance(int face) const;
};

/// Return the axes of an equation's mesh. Throws `domain::MeshError` if the mesh is not one
/// rectilinear zone whose faces have one condition each, or if a name is not in `conditions`;
/// `std::invalid_argument` if s is negative or not finite.
[[nodiscard]] std::array<Axis, 3> axes_of(const Equation& equation);

/// Return the equation with coefficient 1.
[[nodiscard]] Equation without_coefficient(Equation equation);

/// Return whether constants solve the homogeneous equation: s is 0 and no face is `dirichlet`.
[[nodiscard]] bool is_singular(const Equation& equation);

} // namespace uzushio::linalg
