#include "domain/solver_estimate.hpp"

#include <algorithm>

#include "domain/geometry.hpp"

namespace uzushio::domain {
namespace {

/// Return the bytes of the arrays of a block with `ghosts` ghost layers.
std::int64_t array_bytes(const Mesh& mesh, const Block& block, const FieldSpec& spec, int ghosts) {
    std::int64_t values = 0;
    for (const Stagger& stagger : staggers(spec, mesh.dimension()))
        values += staggered(block.cells, stagger).grown(mesh.layers(ghosts)).volume();
    return values * spec.components * static_cast<std::int64_t>(sizeof(double));
}

} // namespace

SolverEstimate estimate(const SolverDeclaration& declaration, const Decomposition& decomposition) {
    const Mesh& mesh = *declaration.mesh;
    SolverEstimate result;
    result.blocks = static_cast<int>(decomposition.blocks().size());
    result.imbalance = decomposition.imbalance();
    const FieldSpec centres{"position", 3, 0};
    const int ghosts_of_geometry = geometry_ghosts(declaration, decomposition);
    for (int rank = 0; rank < decomposition.ranks(); ++rank) {
        std::int64_t cells = 0, bytes = 0;
        for (const int id : decomposition.blocks_of(rank)) {
            const Block& block = decomposition.block(id);
            cells += block.cells.volume();
            if (declaration.uses_centres)
                bytes += array_bytes(mesh, block, centres, max_ghosts(declaration));
            if (declaration.uses_geometry)
                for (const FieldSpec& spec : {Geometry::area_spec(ghosts_of_geometry),
                                              Geometry::volume_spec(ghosts_of_geometry)})
                    bytes += array_bytes(mesh, block, spec, spec.ghosts);
            for (const FieldDeclaration& field : declaration.fields) {
                if (field.is_shared)
                    continue;
                bytes += array_bytes(mesh, block, field.spec, field.spec.ghosts);
                if (is_evolved(field)) // derivative and register of the integrator
                    bytes += 2 * array_bytes(mesh, block, field.spec, 0);
            }
        }
        result.cells = std::max(result.cells, cells);
        result.bytes = std::max(result.bytes, bytes);
    }
    // Right-hand sides, and the stable step.
    const std::int64_t stages =
        stages_of(declaration.scheme) + (declaration.stable_dt_reads_derived ? 1 : 0);
    std::int64_t buffers = 0; // of messages, which are sent and received
    for (const auto& specs : exchange_groups(declaration)) {
        const HaloVolume volume = halo_volume(decomposition, specs, declaration.reach);
        result.halo_messages += stages * volume.max_rank_messages;
        result.halo_bytes += stages * volume.max_rank_bytes;
        buffers += 2 * volume.max_rank_bytes;
    }
    result.bytes += buffers;
    for (const Zone& zone : mesh.zones())
        result.bytes += zone.coordinates.bytes();
    return result;
}

} // namespace uzushio::domain
