#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "parallel/traffic.hpp"
#include "solvers/channel/parameters.hpp"

namespace uzushio::channel {

/// Memory and messages of a case, for the busiest rank.
struct Estimate {
    std::size_t bytes = 0;                         ///< maximum of any rank
    std::map<std::string, parallel::Sent> traffic; ///< maximum of any rank in one step, by kind
};

/// Predict `Solver::bytes` and the counters of a step for the busiest rank. Local: needs no other
/// rank. Throw `std::invalid_argument` if the parameters cannot be used.
[[nodiscard]] Estimate estimate(const Parameters& parameters);

} // namespace uzushio::channel
