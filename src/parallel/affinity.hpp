#pragma once

#include <string_view>
#include <vector>

#include "parallel/node_topology.hpp"

namespace uzushio::parallel {

/// Processors of each thread of a rank.
using RankPlace = std::vector<Processors>;

/// Place the ranks of one node. Return the place of each rank.
///
/// Each thread has a core of its own. If there are fewer available cores than threads, it has a
/// processor (hardware thread) of its own; if there are fewer processors too, threads share them.
/// Policies:
///
/// - `compact`: consecutive threads and ranks have neighbouring cores.
/// - `scatter`: threads of a rank have neighbouring cores; consecutive ranks are on packages, NUMA
///   domains and caches in turn.
/// - `numa_block`: the threads of a rank have all cores of a NUMA domain. Consecutive ranks fill
///   one domain after another.
/// - `numa_cyclic`: the same; consecutive ranks have the domains in turn.
///
/// The last two are numa_1 and numa_2 of the report of 2008 on compositing on the T2K machine. A
/// rank with more threads than a domain has cores is placed on several domains.
///
/// `available`: processors of the node for these ranks. Throws `std::invalid_argument` if there is
/// none of the topology among them, for an unknown policy, and for fewer than one rank or thread.
[[nodiscard]] std::vector<RankPlace> place_ranks(const NodeTopology& topology,
                                                 std::string_view policy,
                                                 const Processors& available, int ranks,
                                                 int threads);

/// Bind this rank. The calling thread, and threads that it starts later, are bound to the
/// processors of the whole rank; each further OpenMP thread is bound to its own. Return the
/// processors of each thread, read back from the system. Throws `std::runtime_error` if the system
/// refuses.
RankPlace bind_rank(const NodeTopology& topology, const RankPlace& place);

} // namespace uzushio::parallel
