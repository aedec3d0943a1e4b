#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/boundaries.hpp"
#include "domain/decomposition.hpp"
#include "domain/halo_plan.hpp"
#include "domain/time_integrator.hpp"

namespace uzushio::domain {

/// Kind of a field: the function that sets its values.
enum class FieldKind {
    evolved,   ///< integrated in time
    derived,   ///< by `derive`, from evolved fields, before each call of `rhs`
    projected, ///< by `project`, after each stage; the solver fills its ghosts
    output     ///< by `derive`, when the field is published; not in checkpoints
};

/// Field that a solver declares.
struct FieldDeclaration {
    FieldSpec spec;
    FieldKind kind = FieldKind::evolved;
    std::string unit = "1";
    std::string description{};
    Conditions boundaries{};
    bool is_shared = false; ///< whether an output is part of an array that the solver has anyway
};

/// Declaration of a solver: mesh, fields, and time integration scheme.
struct SolverDeclaration {
    std::shared_ptr<const Mesh> mesh;
    std::vector<FieldDeclaration> fields; ///< derived ones in the order of their computation
    TimeScheme scheme = TimeScheme::wray_rk3;
    Reach reach = Reach::faces;           ///< ghosts that are exchanged
    double max_imbalance = 1.05;          ///< see `Decomposition::multiblock`
    bool stable_dt_reads_derived = false; ///< whether derived fields are computed before it
    bool uses_centres = true;             ///< whether `SolverBlock::centres` exists
    bool uses_geometry = false;           ///< whether areas and volumes exist
    /// Ghost layers of areas and volumes, at most the maximum of the fields; see `geometry_ghosts`.
    int geometry_ghosts = std::numeric_limits<int>::max();
    /// Boundary conditions of the mesh that `fill` applies to all evolved fields together.
    std::vector<std::string> patch_conditions{};
    /// Blocks along the axes of the only zone, one for each rank; zero: see `multiblock`.
    PartCounts counts{};
    /// Axis across which `project` needs slabs, and moves values to them from other blocks.
    std::optional<std::size_t> slab_axis{};
};

/// Check a solver's declaration. Throws `MeshError` or `std::invalid_argument` if it is invalid.
void check(const SolverDeclaration& declaration);

/// Return the declared blocks on `ranks` ranks. Throws `MeshError` if they do not fit the mesh or
/// the ranks.
[[nodiscard]] Decomposition decompose(const SolverDeclaration& declaration, int ranks);

[[nodiscard]] bool is_evolved(const FieldDeclaration& field);
[[nodiscard]] bool is_derived(const FieldDeclaration& field);

/// Return whether `BlockSolver::fill` applies a boundary condition of the mesh.
[[nodiscard]] bool is_patch_condition(const SolverDeclaration& declaration,
                                      const std::string& condition);

/// Return the specifications of the evolved fields.
[[nodiscard]] std::vector<FieldSpec> evolved_specs(const SolverDeclaration& declaration);

/// Return the groups of fields that are exchanged together: the evolved ones, then each derived
/// one.
[[nodiscard]] std::vector<std::vector<FieldSpec>>
exchange_groups(const SolverDeclaration& declaration);

/// Return the maximum number of ghost layers of the fields.
[[nodiscard]] int max_ghosts(const SolverDeclaration& declaration);
/// Return the ghost layers of areas and volumes: those declared, or the fields' if a block has
/// fewer cells than these, and so ghosts beyond boundaries that it does not touch.
[[nodiscard]] int geometry_ghosts(const SolverDeclaration& declaration,
                                  const Decomposition& decomposition);

} // namespace uzushio::domain
