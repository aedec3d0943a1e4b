#include "compositing/performance_model.hpp"

#include <algorithm>
#include <map>

namespace uzushio::compositing {

namespace {

/// Messages and bytes of one rank in a group.
struct RankLoad {
    double sent = 0, received = 0; ///< messages
    double out = 0, in = 0;        ///< bytes
    double blended = 0;            ///< bytes read and written

    [[nodiscard]] double seconds(const MachineRates& machine) const {
        return machine.latency * std::max(sent, received) + std::max(out, in) / machine.bandwidth +
               blended / machine.blending;
    }
};

using RankLoads = std::map<int, RankLoad>;

double bytes(Range region, const ImageShape& shape, ChannelWidth width) {
    return static_cast<double>(region.size()) * static_cast<double>(shape.bytes(width));
}

void exchange(const CompositingGroup& group, const ImageShape& shape, RankLoads& loads) {
    for (const auto& owner : group.owners) {
        auto& load = loads[owner.rank];
        for (const auto& child : group.children) {
            // Owners' regions are sorted: begin with the first that overlaps.
            auto from = std::partition_point(
                child.owners.begin(), child.owners.end(),
                [&](const RankSpan& o) { return o.region.end <= owner.region.begin; });
            for (; from != child.owners.end() && from->region.begin < owner.region.end; ++from) {
                const double size = bytes(overlap(owner.region, from->region), shape, child.width);
                if (size == 0)
                    continue;
                load.blended += size;
                if (from->rank == owner.rank)
                    continue;
                load.received += 1;
                load.in += size;
                auto& other = loads[from->rank];
                other.sent += 1;
                other.out += size;
            }
        }
        load.blended += bytes(owner.region, shape, group.width);
    }
}

/// Every rank forwards all parts but its own, one after the other.
void chain(const CompositingGroup& group, const ImageShape& shape, RankLoads& loads) {
    const auto count = static_cast<double>(group.owners.size());
    for (const auto& owner : group.owners) {
        const double part = bytes(owner.region, shape, ChannelWidth::wide);
        loads[owner.rank] = {count - 1, count - 1, (count - 1) * part, (count - 1) * part,
                             3 * (count - 1) * part};
    }
}

} // namespace

double predict(const CompositingGroup& group, const ImageShape& shape,
               const MachineRates& machine) {
    if (group.children.empty())
        return 0;
    double before = 0;
    for (const auto& child : group.children)
        before = std::max(before, predict(child, shape, machine));
    RankLoads loads;
    group.chain ? chain(group, shape, loads) : exchange(group, shape, loads);
    double busiest = 0;
    for (const auto& [rank, load] : loads)
        busiest = std::max(busiest, load.seconds(machine));
    return before + busiest;
}

double predict_node(int ranks, const ImageShape& shape, ChannelWidth to,
                    const MachineRates& machine) {
    const Range whole{0, shape.pixels()};
    const double moved =
        ranks * bytes(whole, shape, ChannelWidth::narrow) + bytes(whole, shape, to);
    return machine.barrier + moved / (machine.blending * ranks);
}

std::vector<AlgorithmSpec> candidate_algorithms(int ranks) {
    std::vector<AlgorithmSpec> all{{"binary_swap", 0, {}}, {"binary_tree", 0, {}}};
    if (ranks <= 64)
        all.push_back({"direct_send", 0, {}});
    // The root needs memory for all images.
    if (ranks <= 16)
        all.push_back({"sequential", 0, {}});
    if (ranks <= 64)
        all.push_back({"parallel_pipeline", 0, {}});
    for (const int radix : {4, 8, 16, 32})
        if (radix < ranks)
            all.push_back({"radix_k", radix, {}});
    for (const int group : {16, 64, 256, 1024})
        if (2 * group <= ranks)
            for (const char* second : {"binary_tree", "binary_swap"})
                all.push_back({"multi_step", group, {{"radix_k", 8, {}}, {second, 0, {}}}});
    return all;
}

} // namespace uzushio::compositing
