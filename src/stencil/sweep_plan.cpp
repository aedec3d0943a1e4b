#include "stencil/sweep_plan.hpp"

namespace uzushio::stencil {

std::int64_t values(const MessagePlan& message) {
    std::int64_t sum = 0;
    for (const BufferRect& rect : message.rects)
        sum += rect.rect.points();
    return sum;
}

MessageCount count(const ExchangePlan& exchange, int rank) {
    MessageCount sum;
    for (const ExchangeStage& stage : exchange)
        for (const MessagePlan& message : stage.sends)
            if (message.rank != rank) {
                sum.messages += 1;
                sum.values += values(message);
            }
    return sum;
}

UpdateCount count(const SweepPlan& plan) {
    UpdateCount sum;
    for (const SweepPhase& phase : plan.phases)
        for (const Region* region : {&phase.meanwhile, &phase.after})
            for (const Area& area : region->updates) {
                sum.points += points(area);
                sum.redundant += points(area) - points_within(area, plan.owned);
            }
    return sum;
}

Rect update_bounds(const SweepPlan& plan) {
    Rect all;
    for (const SweepPhase& phase : plan.phases)
        for (const Region* region : {&phase.meanwhile, &phase.after})
            for (const Area& area : region->updates)
                for (const Rect& rect : area)
                    all = bounding_rect(all, rect);
    return all;
}

} // namespace uzushio::stencil
