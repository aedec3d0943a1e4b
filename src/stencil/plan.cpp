#include "stencil/plan.hpp"

namespace uzushio::stencil {

std::int64_t values(const Message& message) {
    std::int64_t sum = 0;
    for (const Patch& patch : message.patches)
        sum += patch.rect.points();
    return sum;
}

Sent count(const Exchange& exchange, int rank) {
    Sent sum;
    for (const Stage& stage : exchange)
        for (const Message& message : stage.sends)
            if (message.rank != rank) {
                sum.messages += 1;
                sum.values += values(message);
            }
    return sum;
}

PlanCount count(const Plan& plan) {
    PlanCount sum;
    for (const Phase& phase : plan.phases)
        for (const Region* region : {&phase.meanwhile, &phase.after})
            for (const Area& area : region->updates) {
                sum.points += points(area);
                sum.redundant += points(area) - points_within(area, plan.owned);
            }
    return sum;
}

Rect offered(const Plan& plan) {
    Rect all;
    for (const Phase& phase : plan.phases)
        for (const Region* region : {&phase.meanwhile, &phase.after})
            for (const Area& area : region->updates)
                for (const Rect& rect : area)
                    all = around(all, rect);
    return all;
}

} // namespace uzushio::stencil
