#include "compositing/compositing_group.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace uzushio::compositing {

namespace {

using parallel::block;

bool holds(const CompositingGroup& group, int rank) {
    return std::any_of(group.owners.begin(), group.owners.end(),
                       [&](const RankSpan& owner) { return owner.rank == rank; });
}

CompositingGroup make_leaf(int rank, const TreeOptions& options) {
    return {{}, {{rank, {0, options.pixels}}}, options.input, false};
}

/// Assign equal regions to all owners of the children, in the order of the centres of their old
/// regions. With two children whose numbers of owners differ by at most one, every new region lies
/// within the old one, and each owner sends only the rest of its old region.
CompositingGroup exchange_regions(std::vector<CompositingGroup> children,
                                  const BuildContext& context) {
    struct Candidate {
        long long centre; ///< times two
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
    CompositingGroup group{std::move(children), {}, ChannelWidth::wide, false};
    const int parts = static_cast<int>(all.size());
    for (int i = 0; i < parts; ++i)
        group.owners.push_back(
            {all[static_cast<std::size_t>(i)].rank, block(context.pixels, parts, i)});
    return group;
}

/// Merge all at one rank: the gather rank if it has a part, else the first rank.
CompositingGroup merge_at_one_rank(std::vector<CompositingGroup> children,
                                   const BuildContext& context) {
    int rank = children.front().owners.front().rank;
    for (const auto& child : children)
        if (holds(child, context.gather_rank))
            rank = context.gather_rank;
    return {std::move(children), {{rank, {0, context.pixels}}}, ChannelWidth::wide, false};
}

/// Assign equal regions to the children, each of one rank; the regions travel from child to child.
CompositingGroup pass_regions_on(std::vector<CompositingGroup> children,
                                 const BuildContext& context) {
    CompositingGroup group{std::move(children), {}, ChannelWidth::wide, true};
    const int parts = static_cast<int>(group.children.size());
    for (int i = 0; i < parts; ++i)
        group.owners.push_back({group.children[static_cast<std::size_t>(i)].owners.front().rank,
                                block(context.pixels, parts, i)});
    return group;
}

using Merge = CompositingGroup(std::vector<CompositingGroup> children, const BuildContext& context);

/// Split the inputs into groups of about equal size, recursively, and merge the groups of each
/// level by `merge`.
CompositingGroup split_by_radix(std::vector<CompositingGroup> inputs, int radix,
                                const BuildContext& context, Merge* merge) {
    const int count = static_cast<int>(inputs.size());
    if (count == 1)
        return std::move(inputs.front());
    // The number of levels follows from the radix; then as few groups per level as possible.
    int levels = 1;
    for (long long reached = radix; reached < count; reached *= radix)
        ++levels;
    int parts = 2;
    while (std::pow(parts, levels) < count)
        ++parts;
    parts = std::min(parts, count);
    std::vector<CompositingGroup> children;
    for (int i = 0; i < parts; ++i) {
        const auto range = block(count, parts, i);
        std::vector<CompositingGroup> some(std::make_move_iterator(inputs.begin() + range.begin),
                                           std::make_move_iterator(inputs.begin() + range.end));
        children.push_back(split_by_radix(std::move(some), radix, context, merge));
    }
    return merge(std::move(children), context);
}

/// Gather the regions of a group at one rank, in stages: a rank receives at most `fan_in` messages
/// a stage, and neighbouring regions stay neighbours.
CompositingGroup gather_regions(CompositingGroup group, int rank, int fan_in) {
    const ChannelWidth width = group.width;
    while (group.owners.size() != 1 || group.owners.front().rank != rank) {
        const auto& owners = group.owners;
        const int count = static_cast<int>(owners.size());
        const int parts = count <= fan_in ? 1 : (count + fan_in - 1) / fan_in;
        std::vector<RankSpan> next;
        for (int i = 0; i < parts; ++i) {
            const auto range = block(count, parts, i);
            const auto first = owners.begin() + range.begin, last = owners.begin() + range.end;
            const bool own = std::any_of(first, last, [&](auto& o) { return o.rank == rank; });
            next.push_back({own || parts == 1 ? rank : first->rank,
                            {first->region.begin, (last - 1)->region.end}});
        }
        std::vector<CompositingGroup> child;
        child.push_back(std::move(group));
        group = {std::move(child), std::move(next), width, false};
    }
    return group;
}

CompositingGroup build(const AlgorithmSpec& spec, std::vector<CompositingGroup> inputs,
                       const BuildContext& context) {
    for (const auto& algorithm : algorithms())
        if (algorithm.name == spec.name)
            return inputs.size() == 1 ? std::move(inputs.front())
                                      : algorithm.build(spec, std::move(inputs), context);
    throw std::invalid_argument("compositing: no algorithm '" + spec.name + "' uses messages");
}

/// Algorithm of a radix and a merge. Radix 0: the parameter of the algorithm.
template <int radix, Merge* merge>
CompositingGroup split(const AlgorithmSpec& spec, std::vector<CompositingGroup> inputs,
                       const BuildContext& context) {
    return split_by_radix(std::move(inputs), radix > 0 ? radix : spec.parameter, context, merge);
}

CompositingGroup multi_step(const AlgorithmSpec& spec, std::vector<CompositingGroup> inputs,
                            const BuildContext& context) {
    const int count = static_cast<int>(inputs.size());
    const int groups = (count + spec.parameter - 1) / spec.parameter;
    if (groups == 1)
        return build(spec.sub_algorithms[0], std::move(inputs), context);
    std::vector<CompositingGroup> gathered;
    for (int i = 0; i < groups; ++i) {
        const auto range = block(count, groups, i);
        std::vector<CompositingGroup> some(std::make_move_iterator(inputs.begin() + range.begin),
                                           std::make_move_iterator(inputs.begin() + range.end));
        const bool own = std::any_of(some.begin(), some.end(), [&](const CompositingGroup& g) {
            return holds(g, context.gather_rank);
        });
        const int gather_rank = own ? context.gather_rank : some.front().owners.front().rank;
        gathered.push_back(gather_regions(build(spec.sub_algorithms[0], std::move(some),
                                                {context.pixels, gather_rank, context.fan_in}),
                                          gather_rank, context.fan_in));
    }
    return build(spec.sub_algorithms[1], std::move(gathered), context);
}

constexpr int unlimited = std::numeric_limits<int>::max(); // all inputs are merged at once

constexpr Algorithm table[] = {
    {"sequential", "", 0, 0, 0, split<unlimited, merge_at_one_rank>},
    {"direct_send", "", 0, 0, 0, split<unlimited, exchange_regions>},
    {"parallel_pipeline", "", 0, 0, 0, split<unlimited, pass_regions_on>},
    {"binary_tree", "", 0, 0, 0, split<2, merge_at_one_rank>},
    {"binary_swap", "", 0, 0, 0, split<2, exchange_regions>},
    {"radix_k", "radix", 2, 8, 0, split<0, exchange_regions>},
    {"multi_step", "ranks of a group", 2, 64, 2, multi_step},
};

} // namespace

std::span<const Algorithm> algorithms() { return table; }

CompositingGroup build_tree(const AlgorithmSpec& spec, std::span<const int> ranks,
                            const TreeOptions& options) {
    std::vector<CompositingGroup> inputs;
    for (const int rank : ranks)
        inputs.push_back(make_leaf(rank, options));
    if (inputs.empty()) // no rank has an image: the picture is the root's background
        inputs.push_back(make_leaf(options.root, options));
    const BuildContext context{options.pixels, options.gather ? options.root : -1, options.fan_in};
    // `sequential` merges at the root even if the root has no image of its own.
    CompositingGroup top =
        spec.name == "sequential" && options.gather && inputs.size() > 1
            ? CompositingGroup{std::move(inputs), {{options.root, {0, options.pixels}}}}
            : build(spec, std::move(inputs), context);
    if (!top.children.empty())
        top.width = ChannelWidth::narrow;
    return options.gather ? gather_regions(std::move(top), options.root, options.fan_in)
                          : std::move(top);
}

} // namespace uzushio::compositing
