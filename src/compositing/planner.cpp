#include "compositing/planner.hpp"

#include <algorithm>
#include <stdexcept>

#include "compositing/model.hpp"

namespace uzushio::compositing {

Group Planner::tree(const Method& method, std::span<const int> ranks, Width input) const {
    return arrange(method, ranks, {shape_.pixels(), root_, gather_, fan_in_, input});
}

Planner::Hybrid Planner::hybrid(std::span<const int> order) const {
    if (node_ == nullptr)
        throw std::logic_error("compositing: a hybrid needs memory that ranks share");
    const int root = gather_ ? root_ : -1;
    Hybrid result{node_->segments(order, root), {}, Width::narrow, false};
    bool alone = true; // every rank is a segment of its own: there is nothing to share
    for (const auto& segment : result.segments) {
        result.leaders.push_back(segment.leader);
        alone = alone && segment.members.size() == 1;
    }
    result.finished = !alone && result.segments.size() == 1 &&
                      (!gather_ || result.segments.front().leader == root_);
    result.width = alone || result.finished ? Width::narrow : Width::wide;
    return result;
}

Plan Planner::plan(const Method& method, std::span<const int> order) const {
    Plan plan;
    if (method.name != "hybrid") {
        plan.schedule = schedule(tree(method, order, Width::narrow), rank_);
        return plan;
    }
    auto [segments, leaders, width, finished] = hybrid(order);
    plan.width = width;
    if (!finished)
        plan.schedule = schedule(tree(method.parts[0], leaders, width), rank_);
    for (auto& segment : segments) {
        const bool leads = segment.leader == rank_;
        if (segment.members.size() == 1 ||
            (!leads && std::ranges::find(segment.members, rank_) == segment.members.end()))
            continue;
        plan.leads = leads;
        plan.all_here = leads && finished;
        plan.segment = std::make_shared<Segment>(std::move(segment));
        break;
    }
    return plan;
}

double Planner::predict(const Method& method, std::span<const int> order,
                        const Machine& machine) const {
    if (method.name != "hybrid")
        return compositing::predict(tree(method, order, Width::narrow), shape_, machine);
    const auto [segments, leaders, width, finished] = hybrid(order);
    double nodes = 0;
    for (const auto& segment : segments)
        if (segment.members.size() > 1)
            nodes = std::max(nodes, predict_node(static_cast<int>(segment.members.size()), shape_,
                                                 width, machine));
    return finished ? nodes
                    : nodes + compositing::predict(tree(method.parts[0], leaders, width), shape_,
                                                   machine);
}

Method Planner::choose(std::span<const int> order, const Machine& machine) const {
    Method best;
    double least = 0;
    const auto consider = [&](Method method) {
        const double time = predict(method, order, machine);
        if (best.name.empty() || time < least) {
            best = std::move(method);
            least = time;
        }
    };
    for (auto& method : candidates(static_cast<int>(order.size())))
        consider(std::move(method));
    if (node_ == nullptr)
        return best;
    const auto nodes = hybrid(order);
    for (auto& method : candidates(static_cast<int>(nodes.leaders.size()))) {
        consider({"hybrid", 0, {std::move(method)}});
        if (nodes.finished)
            break; // whatever comes second has nothing to do
    }
    return best;
}

} // namespace uzushio::compositing
