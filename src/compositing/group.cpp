#include "compositing/group.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace uzushio::compositing {

namespace {

using parallel::block;

bool holds(const Group& group, int rank) {
    return std::any_of(group.owners.begin(), group.owners.end(),
                       [&](const Owner& owner) { return owner.rank == rank; });
}

Group leaf(int rank, const Arrangement& arrangement) {
    return {{}, {{rank, {0, arrangement.pixels}}}, arrangement.input, false};
}

/// Equal regions for all owners of the children, each near the one that it had: in the order of the
/// centres of their regions. With two children whose numbers of owners differ by at most one, every
/// new region lies within the old one, and nobody sends more than the rest of it.
Group exchange(std::vector<Group> children, const Setting& setting) {
    struct Candidate {
        long long centre; ///< twice of it
        std::size_t child;
        int rank;
    };
    std::vector<Candidate> all;
    for (std::size_t c = 0; c < children.size(); ++c)
        for (const auto& owner : children[c].owners)
            all.push_back(
                {static_cast<long long>(owner.region.begin) + owner.region.end, c, owner.rank});
    std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
        return a.centre != b.centre ? a.centre < b.centre : a.child < b.child;
    });
    Group group{std::move(children), {}, Width::wide, false};
    const int parts = static_cast<int>(all.size());
    for (int i = 0; i < parts; ++i)
        group.owners.push_back(
            {all[static_cast<std::size_t>(i)].rank, block(setting.pixels, parts, i)});
    return group;
}

/// Everything to one of the ranks: the leader if it is there, else the first.
Group merge_at_one(std::vector<Group> children, const Setting& setting) {
    int rank = children.front().owners.front().rank;
    for (const auto& child : children)
        if (holds(child, setting.leader))
            rank = setting.leader;
    return {std::move(children), {{rank, {0, setting.pixels}}}, Width::wide, false};
}

/// Halves, thirds, …: groups of about equal size are composited each for itself, then together.
template <class Merge>
Group by_radix(std::vector<Group> units, int radix, const Setting& setting, Merge merge) {
    const int count = static_cast<int>(units.size());
    if (count == 1)
        return std::move(units.front());
    // As many levels as the radix asks for, and then as few groups on each as these need.
    int levels = 1;
    for (long long reached = radix; reached < count; reached *= radix)
        ++levels;
    int parts = 2;
    while (std::pow(parts, levels) < count)
        ++parts;
    parts = std::min(parts, count);
    std::vector<Group> children;
    for (int i = 0; i < parts; ++i) {
        const auto range = block(count, parts, i);
        std::vector<Group> some(std::make_move_iterator(units.begin() + range.begin),
                                std::make_move_iterator(units.begin() + range.end));
        children.push_back(by_radix(std::move(some), radix, setting, merge));
    }
    return merge(std::move(children), setting);
}

/// Gather the regions of a group at one rank, a few ranks at a time: nobody receives more than
/// `fan_in` messages, and what lies side by side stays so.
Group collect(Group group, int rank, int fan_in) {
    const Width width = group.width;
    while (group.owners.size() != 1 || group.owners.front().rank != rank) {
        const auto& owners = group.owners;
        const int count = static_cast<int>(owners.size());
        const int parts = count <= fan_in ? 1 : (count + fan_in - 1) / fan_in;
        std::vector<Owner> next;
        for (int i = 0; i < parts; ++i) {
            const auto range = block(count, parts, i);
            const auto first = owners.begin() + range.begin, last = owners.begin() + range.end;
            const bool own = std::any_of(first, last, [&](auto& o) { return o.rank == rank; });
            next.push_back({own || parts == 1 ? rank : first->rank,
                            {first->region.begin, (last - 1)->region.end}});
        }
        std::vector<Group> child;
        child.push_back(std::move(group));
        group = {std::move(child), std::move(next), width, false};
    }
    return group;
}

Group build(const Method& method, std::vector<Group> units, const Setting& setting) {
    for (const auto& algorithm : algorithms())
        if (algorithm.name == method.name)
            return units.size() == 1 ? std::move(units.front())
                                     : algorithm.build(method, std::move(units), setting);
    throw std::invalid_argument("no compositing algorithm '" + method.name + "' goes by messages");
}

Group sequential(const Method& /*method*/, std::vector<Group> units, const Setting& setting) {
    return merge_at_one(std::move(units), setting);
}

Group direct_send(const Method& /*method*/, std::vector<Group> units, const Setting& setting) {
    return exchange(std::move(units), setting);
}

Group parallel_pipeline(const Method& /*method*/, std::vector<Group> units,
                        const Setting& setting) {
    Group group{std::move(units), {}, Width::wide, true};
    const int parts = static_cast<int>(group.children.size());
    for (int i = 0; i < parts; ++i)
        group.owners.push_back({group.children[static_cast<std::size_t>(i)].owners.front().rank,
                                block(setting.pixels, parts, i)});
    return group;
}

Group binary_tree(const Method& /*method*/, std::vector<Group> units, const Setting& setting) {
    return by_radix(std::move(units), 2, setting, merge_at_one);
}

Group binary_swap(const Method& /*method*/, std::vector<Group> units, const Setting& setting) {
    return by_radix(std::move(units), 2, setting, exchange);
}

Group radix_k(const Method& method, std::vector<Group> units, const Setting& setting) {
    return by_radix(std::move(units), method.number, setting, exchange);
}

Group multi_step(const Method& method, std::vector<Group> units, const Setting& setting) {
    const int count = static_cast<int>(units.size());
    const int groups = (count + method.number - 1) / method.number;
    if (groups == 1)
        return build(method.parts[0], std::move(units), setting);
    std::vector<Group> steps;
    for (int i = 0; i < groups; ++i) {
        const auto range = block(count, groups, i);
        std::vector<Group> some(std::make_move_iterator(units.begin() + range.begin),
                                std::make_move_iterator(units.begin() + range.end));
        const bool own = std::any_of(some.begin(), some.end(),
                                     [&](const Group& g) { return holds(g, setting.leader); });
        const int leader = own ? setting.leader : some.front().owners.front().rank;
        steps.push_back(collect(
            build(method.parts[0], std::move(some), {setting.pixels, leader, setting.fan_in}),
            leader, setting.fan_in));
    }
    return build(method.parts[1], std::move(steps), setting);
}

constexpr Algorithm table[] = {
    {"sequential", "", 0, 0, 0, sequential},
    {"direct_send", "", 0, 0, 0, direct_send},
    {"parallel_pipeline", "", 0, 0, 0, parallel_pipeline},
    {"binary_tree", "", 0, 0, 0, binary_tree},
    {"binary_swap", "", 0, 0, 0, binary_swap},
    {"radix_k", "radix", 2, 8, 0, radix_k},
    {"multi_step", "ranks of a group", 2, 64, 2, multi_step},
};

} // namespace

std::span<const Algorithm> algorithms() { return table; }

Group arrange(const Method& method, std::span<const int> ranks, const Arrangement& arrangement) {
    std::vector<Group> units;
    for (const int rank : ranks)
        units.push_back(leaf(rank, arrangement));
    if (units.empty()) // nobody has an image: the root's background is the picture
        units.push_back(leaf(arrangement.root, arrangement));
    const Setting setting{arrangement.pixels, arrangement.gather ? arrangement.root : -1,
                          arrangement.fan_in};
    // All-to-root needs no rank between, even where the root has no image of its own.
    Group top = method.name == "sequential" && arrangement.gather && units.size() > 1
                    ? Group{std::move(units), {{arrangement.root, {0, arrangement.pixels}}}}
                    : build(method, std::move(units), setting);
    if (!top.children.empty())
        top.width = Width::narrow;
    return arrangement.gather ? collect(std::move(top), arrangement.root, arrangement.fan_in)
                              : std::move(top);
}

} // namespace uzushio::compositing
