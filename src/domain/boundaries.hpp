#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/field.hpp"
#include "domain/ghost_fill.hpp"

namespace uzushio::domain {

/// Boundary conditions of a field, by their names in the mesh.
using Conditions = std::map<std::string, GhostFill>;

/// Throw `MeshError` if the mesh has a condition that a field does not have.
void check_conditions(const Mesh& mesh, const std::string& field, const Conditions& conditions);

/// Boundary conditions of a field by name, called for each block, patch and array to fill ghosts.
/// Apply them after the halo exchange, with `Reach::corners` if edges matter.
class Boundaries {
  public:
    /// Throws `MeshError` on all ranks as `check_conditions`.
    Boundaries(const Decomposition& decomposition, int rank, const FieldSpec& spec,
               const Conditions& conditions);

    void apply(Field<double>& field, double time) const;

  private:
    struct Call {
        GhostFill fill;
        BoundaryRegion region;
    };
    std::vector<Stagger> staggers_; ///< of the arrays
    int layers_;
    std::vector<Call> calls_;
};

} // namespace uzushio::domain
