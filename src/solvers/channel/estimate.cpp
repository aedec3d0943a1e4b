#include "solvers/channel/estimate.hpp"

#include <algorithm>
#include <set>

#include "parallel/block.hpp"
#include "solvers/channel/convection.hpp"
#include "solvers/channel/partitioned.hpp"
#include "solvers/channel/pipelined.hpp"
#include "solvers/channel/plane_transform.hpp"
#include "solvers/channel/planes.hpp"

namespace uzushio::channel {

using parallel::block;
using parallel::Exchange;
using parallel::Sent;
using parallel::Traffic;

namespace {

constexpr int substeps = 3;
constexpr int velocities = 3; ///< fields that are transformed to physical space
constexpr int products = 7;   ///< fields that are transformed back
constexpr int fields = 10;    ///< velocity, convective terms of two substeps, pressure
constexpr int sweeps = 4;     ///< of the two solves, up and down
constexpr std::int64_t real = sizeof(double);
constexpr std::int64_t complex = 2 * real;

/// Sizes of one rank's part.
struct Part {
    std::int64_t planes, rows, waves, modes, batch, pitch, columns;
    std::int64_t ends, all_ends; ///< interface rows of `Partitioned`, of this rank and of all
    bool below, above;
};

std::int64_t memory(const Parameters& p, const Modes& m, const Part& part) {
    const bool shared = p.py > 1;
    const bool tall = p.pz > 1;
    const std::int64_t field =
        Fields::size(static_cast<int>(part.planes), static_cast<int>(part.modes)) * real;
    const bool sends = shared && p.transposes != Transposes::shared_memory;
    const std::int64_t sent = PlaneTransform::sent_bytes(p.transpose_precision);
    const std::int64_t modes_side = m.my * (shared ? part.batch * part.waves : part.pitch);
    const std::int64_t slot =
        (modes_side + 3) / 4 * 4 * complex + (sends ? part.batch * part.rows * m.kx * sent : 0);
    const std::int64_t slots = ConvectionPart::slot_sets(p) * (velocities + products);
    const std::int64_t row = (m.mx + 7) / 8 * 8;
    const std::int64_t parts = Convection::parts(p, static_cast<int>(part.planes));
    const std::int64_t part_bytes =
        slots * slot + (m.mx / 2 + 1) * complex + (6 * part.rows + 28) * row * real;
    // Fluxes through the upper face of each part, and of its lowest plane unless at a wall.
    const std::int64_t fluxes = 2 * parts - (part.below ? 0 : 1) + (tall ? 1 : 0);
    const std::int64_t convection = parts * part_bytes + fluxes * 4 * part.modes * real;
    const std::int64_t halo = tall ? 32 * part.modes * real : 0;
    std::int64_t solve = 0;
    if (!tall || p.scheme == "pipelined")
        solve = Pipelined::parts(static_cast<int>(part.modes), p.pz, p.threads) *
                Pipelined::chunk_size(static_cast<int>(part.modes), p.pz) *
                (1 + (tall ? sweeps * 2 * ChunkSweeps::max_in_flight * max_values : 0));
    else if (p.scheme == "partitioned")
        solve = static_cast<std::int64_t>(Partitioned::bytes_of(
                    static_cast<int>(part.ends), static_cast<int>(part.all_ends),
                    static_cast<int>(part.modes), static_cast<int>(part.columns), max_values)) /
                    real +
                8 * part.modes;
    else
        solve = 2 * (part.planes + 1) * part.modes + 2 * (p.nz() + 1) * part.columns +
                p.threads * (p.nz() + 2) * 256 + 8 * part.modes;
    return fields * field + 2 * part.modes * real + convection + halo + solve * real;
}

Traffic one_step(const Parameters& p, const Modes& m, const Part& part) {
    Traffic traffic;
    if (p.py > 1) {
        auto& sent = traffic[Exchange::transpose_xy];
        const int parts = Convection::parts(p, static_cast<int>(part.planes));
        for (int thread = 0; thread < parts; ++thread) {
            const auto planes = block(static_cast<int>(part.planes), parts, thread).size();
            const std::int64_t batches = (planes + part.batch - 1) / part.batch;
            sent.exchanges += substeps * (velocities * (batches + 1) + products * batches);
        }
        const bool sends = p.transposes != Transposes::shared_memory;
        sent.messages = sends ? sent.exchanges * (p.py - 1) : 0;
        const auto precision = sends ? p.transpose_precision : SentPrecision::full;
        sent.bytes = substeps * PlaneTransform::sent_bytes(precision) *
                     (velocities * (part.planes + parts) * part.waves * (m.my - part.rows) +
                      products * part.planes * part.rows * (m.kx - part.waves));
    }
    const int up = part.above ? 1 : 0;
    const int down = part.below ? 1 : 0;
    if (p.pz > 1 && p.scheme == "pipelined") {
        const int size = Pipelined::chunk_size(static_cast<int>(part.modes), p.pz);
        auto& sent = traffic[Exchange::column_shift];
        // In each substep, for the momentum and for the pressure, up and down.
        sent.exchanges = substeps * 2 * (up + down) * ((part.modes + size - 1) / size);
        sent.messages = sent.exchanges;
        sent.bytes = substeps * real * part.modes * (up * (8 + 5) + down * (6 + 2));
    } else if (p.pz > 1 && p.scheme == "partitioned") {
        // Of a row: two factors of three matrices, and the values of four unknowns.
        constexpr int values = 2 * 3 + 2 * 4, solutions = 2 * 4;
        auto& sent = traffic[Exchange::interfaces];
        sent.exchanges = substeps * 2 * 2;
        sent.messages = sent.exchanges * (p.pz - 1);
        sent.bytes = substeps * real *
                     (values * part.ends * (part.modes - part.columns) +
                      solutions * part.columns * (part.all_ends + p.pz - part.ends - 1));
    } else if (p.pz > 1) {
        constexpr int unknowns = 4;
        auto& sent = traffic[Exchange::transpose_z];
        sent.exchanges = substeps * 2 * unknowns;
        sent.messages = sent.exchanges * (p.pz - 1);
        sent.bytes = substeps * unknowns * complex *
                     (part.planes * (part.modes - part.columns) +
                      part.columns * (p.nz() + p.pz - part.planes - 1));
    }
    if (p.pz > 1) {
        auto& sent = traffic[Exchange::halo];
        // Ghost planes and the flux; other schemes than pipelined send w for the divergence apart.
        const int separate = p.scheme == "pipelined" ? 0 : 1;
        sent.exchanges = substeps * (2 + separate);
        sent.messages = substeps * ((2 + separate) * up + down);
        sent.bytes = substeps * part.modes * complex * (up * (3 + 2 + separate) + down * 4);
    }
    auto& sent = traffic[Exchange::reduction];
    sent.exchanges = sent.messages = 1 + (p.forcing == Forcing::flow_rate ? substeps : 0);
    sent.bytes = sent.messages * real;
    return traffic;
}

/// Return positions along an axis of the process grid, among which are ranks with all pairs of
/// block sizes of these totals, with and without neighbours.
std::set<int> positions(int parts, std::initializer_list<int> totals) {
    std::set<int> chosen{0, std::min(1, parts - 1), std::max(parts - 2, 0), parts - 1};
    for (const int total : totals)
        for (const int at : {total % parts - 1, total % parts, total % parts + 1})
            chosen.insert(std::clamp(at, 0, parts - 1));
    return chosen;
}

} // namespace

Estimate estimate(const Parameters& p) {
    check(p);
    const auto modes = Modes::of(p.nx, p.ny, p.dealiasing);
    Estimate result;
    std::int64_t all_ends = 0;
    for (int z = 0; z < p.pz; ++z)
        all_ends += Partitioned::interface_rows(block(p.nz(), p.pz, z).size());
    const int wide = block(modes.kx, p.py, 0).size() * modes.columns_y();
    const int narrow = block(modes.kx, p.py, p.py - 1).size() * modes.columns_y();
    for (const int z : positions(p.pz, {p.nz(), wide, narrow}))
        for (const int y : positions(p.py, {modes.my, modes.kx})) {
            Part part{};
            part.planes = block(p.nz(), p.pz, z).size();
            part.rows = block(modes.my, p.py, y).size();
            part.waves = block(modes.kx, p.py, y).size();
            part.modes = part.waves * modes.columns_y();
            part.batch = p.transposes == Transposes::shared_memory
                             ? PlaneTransform::batch_if_shared
                             : PlaneTransform::batch_for(modes, p.py);
            part.pitch = PlaneTransform::padded(static_cast<int>(part.waves));
            part.columns = block(static_cast<int>(part.modes), p.pz, z).size();
            part.ends = Partitioned::interface_rows(static_cast<int>(part.planes));
            part.all_ends = all_ends;
            part.below = z > 0;
            part.above = z + 1 < p.pz;
            result.bytes = std::max(result.bytes, static_cast<std::size_t>(memory(p, modes, part)));
            const auto traffic = one_step(p, modes, part);
            for (std::size_t kind = 0; kind < parallel::exchange_names.size(); ++kind) {
                const auto& sent = traffic[static_cast<Exchange>(kind)];
                auto& largest = result.traffic[std::string(parallel::exchange_names[kind])];
                largest.exchanges = std::max(largest.exchanges, sent.exchanges);
                largest.messages = std::max(largest.messages, sent.messages);
                largest.bytes = std::max(largest.bytes, sent.bytes);
            }
        }
    return result;
}

} // namespace uzushio::channel
