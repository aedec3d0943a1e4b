#pragma once

#include <utility>
#include <vector>

#include "stencil/plan.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::stencil {

/// Adds the message to the tile `dx` to the right and `dy` above, if there is one and something to
/// say.
inline void send(Stage& stage, const Tiling& tiling, int dx, int dy, std::vector<Patch> patches) {
    const int rank = tiling.neighbour(dx, dy);
    // Two tiles of a periodic direction meet twice: a tag tells which way a message goes.
    if (rank != MPI_PROC_NULL && !patches.empty())
        stage.sends.push_back({rank, 3 * (dy + 1) + dx + 1, std::move(patches)});
}

/// Adds the message from that tile, which sends it in the opposite direction.
inline void receive(Stage& stage, const Tiling& tiling, int dx, int dy,
                    std::vector<Patch> patches) {
    const int rank = tiling.neighbour(dx, dy);
    if (rank != MPI_PROC_NULL && !patches.empty())
        stage.receives.push_back({rank, 3 * (1 - dy) + 1 - dx, std::move(patches)});
}

/// Both ways between this tile and that one.
inline void add(Stage& stage, const Tiling& tiling, int dx, int dy, std::vector<Patch> out,
                std::vector<Patch> in) {
    send(stage, tiling, dx, dy, std::move(out));
    receive(stage, tiling, dx, dy, std::move(in));
}

/// Those that have any message, one after the other.
[[nodiscard]] inline Exchange stages(Stage first, Stage second = {}) {
    Exchange exchange;
    for (Stage* stage : {&first, &second})
        if (!stage->sends.empty() || !stage->receives.empty())
            exchange.push_back(std::move(*stage));
    return exchange;
}

} // namespace uzushio::stencil
