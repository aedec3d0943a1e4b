#include "compositing/model.hpp"

#include <algorithm>
#include <map>

namespace uzushio::compositing {

namespace {

/// What one rank does in a group.
struct Load {
    double sent = 0, received = 0; ///< messages
    double out = 0, in = 0;        ///< bytes
    double blended = 0;            ///< bytes read and written

    [[nodiscard]] double seconds(const Machine& machine) const {
        return machine.latency * std::max(sent, received) + std::max(out, in) / machine.bandwidth +
               blended / machine.blending;
    }
};

using Loads = std::map<int, Load>;

double bytes(Range region, const Shape& shape, Width width) {
    return static_cast<double>(region.size()) * static_cast<double>(shape.bytes(width));
}

void exchange(const Group& group, const Shape& shape, Loads& loads) {
    for (const auto& owner : group.owners) {
        auto& load = loads[owner.rank];
        for (const auto& child : group.children) {
            // Owners' regions follow each other: only those from the first that overlaps count.
            auto from =
                std::partition_point(child.owners.begin(), child.owners.end(), [&](const Owner& o) {
                    return o.region.end <= owner.region.begin;
                });
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

/// Every rank passes on all parts but its own, one after the other, and the last one has the
/// longest way.
void chain(const Group& group, const Shape& shape, Loads& loads) {
    const auto count = static_cast<double>(group.owners.size());
    for (const auto& owner : group.owners) {
        const double part = bytes(owner.region, shape, Width::wide);
        loads[owner.rank] = {count - 1, count - 1, (count - 1) * part, (count - 1) * part,
                             3 * (count - 1) * part};
    }
}

} // namespace

double predict(const Group& group, const Shape& shape, const Machine& machine) {
    if (group.children.empty())
        return 0;
    double before = 0;
    for (const auto& child : group.children)
        before = std::max(before, predict(child, shape, machine));
    Loads loads;
    group.chain ? chain(group, shape, loads) : exchange(group, shape, loads);
    double busiest = 0;
    for (const auto& [rank, load] : loads)
        busiest = std::max(busiest, load.seconds(machine));
    return before + busiest;
}

double predict_node(int ranks, const Shape& shape, Width to, const Machine& machine) {
    const Range whole{0, shape.pixels()};
    const double moved = ranks * bytes(whole, shape, Width::narrow) + bytes(whole, shape, to);
    return machine.meeting + moved / (machine.blending * ranks);
}

std::vector<Method> candidates(int ranks) {
    std::vector<Method> all{{"binary_swap", 0, {}}, {"binary_tree", 0, {}}};
    if (ranks <= 64)
        all.push_back({"direct_send", 0, {}});
    // Whoever receives everything needs memory for everything.
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
