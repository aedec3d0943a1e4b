#include "domain/solver_declaration.hpp"

#include <algorithm>
#include <stdexcept>

#include "domain/mesh_error.hpp"
#include "domain/zone_parts.hpp"

namespace uzushio::domain {
namespace {

/// Return whether the framework fills the ghosts of a field.
bool has_ghosts(const FieldDeclaration& field) {
    return field.spec.ghosts > 0 && (is_evolved(field) || is_derived(field));
}

/// Return the ghost layers of all arrays that are exchanged.
int exchanged_layers(const SolverDeclaration& declaration) {
    int layers = 0;
    for (const auto& group : exchange_groups(declaration))
        for (const FieldSpec& spec : group)
            layers += spec.ghosts * spec.components *
                      static_cast<int>(staggers(spec, declaration.mesh->dimension()).size());
    return layers;
}

} // namespace

void check(const SolverDeclaration& declaration) {
    if (declaration.mesh == nullptr)
        throw std::invalid_argument("a solver of blocks declares no mesh");
    if (evolved_specs(declaration).empty())
        throw std::invalid_argument("a solver of blocks declares no evolved field");
    for (auto f = declaration.fields.begin(); f != declaration.fields.end(); ++f)
        for (auto other = declaration.fields.begin(); other != f; ++other)
            if (f->spec.name == other->spec.name)
                throw std::invalid_argument("a solver of blocks declares two fields '" +
                                            f->spec.name + "'");
    for (const FieldDeclaration& field : declaration.fields)
        if (has_ghosts(field))
            check_conditions(*declaration.mesh, field.spec.name, field.boundaries);
}

bool is_patch_condition(const SolverDeclaration& declaration, const std::string& condition) {
    const auto& all = declaration.patch_conditions;
    return std::find(all.begin(), all.end(), condition) != all.end();
}

Decomposition decompose(const SolverDeclaration& declaration, int ranks) {
    PartCounts counts = declaration.counts;
    const auto& axis = declaration.slab_axis;
    if (counts == PartCounts{} && axis &&
        are_slabs_cheaper(*declaration.mesh, *axis, ranks, exchanged_layers(declaration))) {
        counts = {1, 1, 1};
        counts[*axis] = ranks;
    }
    if (counts == PartCounts{})
        return Decomposition::multiblock(declaration.mesh, ranks, declaration.max_imbalance);
    Decomposition decomposition = Decomposition::cartesian(declaration.mesh, counts);
    if (decomposition.ranks() != ranks)
        throw MeshError(std::to_string(decomposition.ranks()) + " blocks are declared for " +
                        std::to_string(ranks) + " ranks");
    return decomposition;
}

bool is_evolved(const FieldDeclaration& field) { return field.kind == FieldKind::evolved; }
bool is_derived(const FieldDeclaration& field) { return field.kind == FieldKind::derived; }

std::vector<std::vector<FieldSpec>> exchange_groups(const SolverDeclaration& declaration) {
    std::vector<std::vector<FieldSpec>> groups(1);
    for (const FieldDeclaration& field : declaration.fields)
        if (is_derived(field))
            groups.push_back({field.spec});
        else if (is_evolved(field))
            groups.front().push_back(field.spec);
    for (auto& group : groups)
        std::erase_if(group, [](const FieldSpec& spec) { return spec.ghosts == 0; });
    return groups;
}

std::vector<FieldSpec> evolved_specs(const SolverDeclaration& declaration) {
    std::vector<FieldSpec> specs;
    for (const FieldDeclaration& field : declaration.fields)
        if (is_evolved(field))
            specs.push_back(field.spec);
    return specs;
}

int max_ghosts(const SolverDeclaration& declaration) {
    int ghosts = 0;
    for (const FieldDeclaration& field : declaration.fields)
        ghosts = std::max(ghosts, field.spec.ghosts);
    return ghosts;
}

int geometry_ghosts(const SolverDeclaration& declaration, const Decomposition& decomposition) {
    const int ghosts = max_ghosts(declaration);
    const auto axes = static_cast<std::size_t>(declaration.mesh->dimension());
    for (const Block& block : decomposition.blocks())
        for (std::size_t a = 0; a < axes; ++a)
            if (block.cells.extent(a) < ghosts)
                return ghosts;
    return std::min(declaration.geometry_ghosts, ghosts);
}

} // namespace uzushio::domain
