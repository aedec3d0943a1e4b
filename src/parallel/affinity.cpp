#include "parallel/affinity.hpp"

#include <omp.h>

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <string>

namespace uzushio::parallel {

namespace {

/// Core, or one processor of it, for one thread.
struct Slot {
    Processors processors;
    int domain;
    std::vector<int> position;
};

/// Cores of one NUMA domain, or of several for a rank with many threads.
struct Group {
    Processors processors;
    int slots = 0;
};

Processors merged(const RankPlace& place) {
    Processors all;
    for (const Processors& processors : place)
        all.insert(all.end(), processors.begin(), processors.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

/// Return the available cores, or their processors if `threads` need more.
std::vector<Slot> slots_for(const NodeTopology& topology, const Processors& available,
                            std::size_t threads) {
    std::vector<Slot> cores, processors;
    for (const NodeTopology::Core& core : topology.cores()) {
        Processors mine;
        std::set_intersection(core.processors.begin(), core.processors.end(), available.begin(),
                              available.end(), std::back_inserter(mine));
        if (mine.empty())
            continue;
        cores.push_back({mine, core.domain, core.position});
        for (const int processor : mine)
            processors.push_back({{processor}, core.domain, core.position});
    }
    return cores.size() >= threads ? cores : processors;
}

RankPlace neighbours(const std::vector<Slot>& slots, std::size_t rank, std::size_t threads) {
    RankPlace place;
    for (std::size_t t = 0; t < threads; ++t)
        place.push_back(slots[(rank * threads + t) % slots.size()].processors);
    return place;
}

/// Return the indices of `slots` in `chosen` in an order that takes objects at `depth` in turn.
std::vector<std::size_t> in_turn(const std::vector<Slot>& slots,
                                 const std::vector<std::size_t>& chosen, std::size_t depth) {
    if (chosen.size() < 2 || depth == slots[chosen[0]].position.size())
        return chosen;
    std::map<int, std::vector<std::size_t>> parts;
    for (const std::size_t slot : chosen)
        parts[slots[slot].position[depth]].push_back(slot);
    std::size_t longest = 0;
    for (auto& [index, part] : parts) {
        part = in_turn(slots, part, depth + 1);
        longest = std::max(longest, part.size());
    }
    std::vector<std::size_t> order;
    for (std::size_t n = 0; n < longest; ++n)
        for (const auto& [index, part] : parts)
            if (n < part.size())
                order.push_back(part[n]);
    return order;
}

std::vector<RankPlace> scattered(const std::vector<Slot>& slots, std::size_t ranks,
                                 std::size_t threads) {
    std::vector<std::size_t> first; // slot of the first thread of each possible place
    for (std::size_t slot = 0; slot + threads <= slots.size() || slot == 0; slot += threads)
        first.push_back(slot);
    const auto order = in_turn(slots, first, 0);
    std::vector<RankPlace> places;
    for (std::size_t rank = 0; rank < ranks; ++rank)
        places.push_back(neighbours(slots, order[rank % order.size()] / threads, threads));
    return places;
}

std::vector<Group> groups_of(const std::vector<Slot>& slots, std::size_t threads) {
    std::map<int, Group> domains;
    for (const Slot& slot : slots) {
        Group& domain = domains[slot.domain];
        domain.processors.insert(domain.processors.end(), slot.processors.begin(),
                                 slot.processors.end());
        ++domain.slots;
    }
    std::vector<Group> groups;
    for (auto& [number, domain] : domains) {
        const bool small = !groups.empty() && groups.back().slots < static_cast<int>(threads);
        if (!small)
            groups.emplace_back();
        Group& group = groups.back();
        group.processors = merged({group.processors, domain.processors});
        group.slots += domain.slots;
    }
    if (groups.size() > 1 && groups.back().slots < static_cast<int>(threads)) { // too small alone
        Group& last = groups[groups.size() - 2];
        last.processors = merged({last.processors, groups.back().processors});
        last.slots += groups.back().slots;
        groups.pop_back();
    }
    return groups;
}

std::vector<RankPlace> in_domains(const std::vector<Slot>& slots, std::size_t ranks,
                                  std::size_t threads, bool cyclic) {
    const std::vector<Group> groups = groups_of(slots, threads);
    std::vector<std::size_t> order;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto count = static_cast<std::size_t>(groups[g].slots) / threads;
        order.insert(order.end(), cyclic ? 1 : std::max<std::size_t>(1, count), g);
    }
    std::vector<RankPlace> places;
    for (std::size_t rank = 0; rank < ranks; ++rank)
        places.emplace_back(threads, groups[order[rank % order.size()]].processors);
    return places;
}

} // namespace

std::vector<RankPlace> place_ranks(const NodeTopology& topology, std::string_view policy,
                                   const Processors& available, int ranks, int threads) {
    if (ranks < 1 || threads < 1)
        throw std::invalid_argument("a placement needs at least one rank and one thread");
    const auto r = static_cast<std::size_t>(ranks);
    const auto t = static_cast<std::size_t>(threads);
    const std::vector<Slot> slots = slots_for(topology, available, r * t);
    if (slots.empty())
        throw std::invalid_argument("none of the available processors is in the topology");
    if (policy == "scatter")
        return scattered(slots, r, t);
    if (policy == "numa_block" || policy == "numa_cyclic")
        return in_domains(slots, r, t, policy == "numa_cyclic");
    if (policy != "compact")
        throw std::invalid_argument("there is no affinity policy '" + std::string(policy) +
                                    "'; there are: compact, scatter, numa_block, numa_cyclic");
    std::vector<RankPlace> places;
    for (std::size_t rank = 0; rank < r; ++rank)
        places.push_back(neighbours(slots, rank, t));
    return places;
}

RankPlace bind_rank(const NodeTopology& topology, const RankPlace& place) {
    const int threads = static_cast<int>(place.size());
    const Processors all = merged(place);
    RankPlace bound(place.size());
    int refused = 0;
#pragma omp parallel num_threads(threads) reduction(+ : refused)
    {
        const int thread = omp_get_thread_num();
        const auto t = static_cast<std::size_t>(thread);
        // Threads that the first one starts later, such as services, must not share its core only.
        if (!topology.bind_thread(thread == 0 ? all : place[t]))
            ++refused;
        bound[t] = topology.bound_processors();
    }
    if (refused > 0)
        throw std::runtime_error("the system refused to bind a thread to its processors");
    std::erase_if(bound, [](const Processors& processors) {
        return processors.empty();
    }); // fewer threads run
    return bound;
}

} // namespace uzushio::parallel
