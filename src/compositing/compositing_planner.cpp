#include "compositing/compositing_planner.hpp"

#include <algorithm>
#include <stdexcept>

#include "compositing/performance_model.hpp"

namespace uzushio::compositing {

CompositingGroup CompositingPlanner::tree(const AlgorithmSpec& spec, std::span<const int> ranks,
                                          ChannelWidth input) const {
    return build_tree(spec, ranks, {shape_.pixels(), root_, gather_, fan_in_, input});
}

CompositingPlanner::NodePartition CompositingPlanner::partition(std::span<const int> order) const {
    if (node_ == nullptr)
        throw std::logic_error(
            "compositing: a hybrid algorithm needs a compositor with shared memory");
    const int root = gather_ ? root_ : -1;
    NodePartition result{node_->segments(order, root), {}, ChannelWidth::narrow, false};
    bool alone = true; // every segment is one rank: nothing is shared
    for (const auto& segment : result.segments) {
        result.leaders.push_back(segment.leader);
        alone = alone && segment.members.size() == 1;
    }
    result.finished = !alone && result.segments.size() == 1 &&
                      (!gather_ || result.segments.front().leader == root_);
    result.width = alone || result.finished ? ChannelWidth::narrow : ChannelWidth::wide;
    return result;
}

CompositingPlan CompositingPlanner::plan(const AlgorithmSpec& spec,
                                         std::span<const int> order) const {
    CompositingPlan plan;
    if (spec.name != "hybrid") {
        plan.schedule = make_schedule(tree(spec, order, ChannelWidth::narrow), rank_);
        return plan;
    }
    auto [segments, leaders, width, finished] = partition(order);
    plan.width = width;
    if (!finished)
        plan.schedule = make_schedule(tree(spec.sub_algorithms[0], leaders, width), rank_);
    for (auto& segment : segments) {
        const bool leads = segment.leader == rank_;
        if (segment.members.size() == 1 ||
            (!leads && std::ranges::find(segment.members, rank_) == segment.members.end()))
            continue;
        plan.leads = leads;
        plan.complete = leads && finished;
        plan.segment = std::make_shared<NodeSegment>(std::move(segment));
        break;
    }
    return plan;
}

double CompositingPlanner::predict(const AlgorithmSpec& spec, std::span<const int> order,
                                   const MachineRates& machine) const {
    if (spec.name != "hybrid")
        return compositing::predict(tree(spec, order, ChannelWidth::narrow), shape_, machine);
    const auto [segments, leaders, width, finished] = partition(order);
    double nodes = 0;
    for (const auto& segment : segments)
        if (segment.members.size() > 1)
            nodes = std::max(nodes, predict_node(static_cast<int>(segment.members.size()), shape_,
                                                 width, machine));
    return finished ? nodes
                    : nodes + compositing::predict(tree(spec.sub_algorithms[0], leaders, width),
                                                   shape_, machine);
}

AlgorithmSpec CompositingPlanner::choose(std::span<const int> order,
                                         const MachineRates& machine) const {
    AlgorithmSpec best;
    double best_time = 0;
    const auto consider = [&](AlgorithmSpec spec) {
        const double time = predict(spec, order, machine);
        if (best.name.empty() || time < best_time) {
            best = std::move(spec);
            best_time = time;
        }
    };
    for (auto& spec : candidate_algorithms(static_cast<int>(order.size())))
        consider(std::move(spec));
    if (node_ == nullptr)
        return best;
    const auto nodes = partition(order);
    for (auto& spec : candidate_algorithms(static_cast<int>(nodes.leaders.size()))) {
        consider({"hybrid", 0, {std::move(spec)}});
        if (nodes.finished)
            break; // the second algorithm has nothing to do
    }
    return best;
}

} // namespace uzushio::compositing
