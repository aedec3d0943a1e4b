#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "channel/parameters.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::channel {

/// What a case will hold and send.
struct Estimate {
    std::size_t bytes = 0;                         ///< of the rank that holds the most
    std::map<std::string, parallel::Sent> traffic; ///< largest of any rank in one step, by kind
};

/// Computes what `Solver::bytes` and the counters of a step will say, for the busiest rank, without
/// the ranks. Throws `std::invalid_argument` like the solver.
[[nodiscard]] Estimate estimate(const Parameters& parameters);

} // namespace uzushio::channel
