#include "stencil/plan.hpp"

namespace uzushio::stencil {

std::int64_t values(const Message& message) {
    std::int64_t sum = 0;
    for (const Patch& patch : message.patches)
        sum += patch.rect.points();
    return sum;
}

PlanCount count(const Plan& plan, int rank) {
    PlanCount sum;
    for (const Phase& phase : plan.phases) {
        for (const Stage& stage : phase.exchange)
            for (const Message& message : stage.sends)
                if (message.rank != rank) {
                    sum.messages += 1;
                    sum.values += values(message);
                }
        for (const Region* region : {&phase.meanwhile, &phase.after})
            for (const Area& area : region->updates) {
                sum.points += points(area);
                sum.redundant += points(area) - points_within(area, plan.owned);
            }
    }
    return sum;
}

} // namespace uzushio::stencil
