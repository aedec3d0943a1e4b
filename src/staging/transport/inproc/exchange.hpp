#pragma once

#include <functional>
#include <span>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/queue/buffer_pool.hpp"
#include "staging/transport/source.hpp"

namespace uzushio::staging::inproc {

/// Brings pieces from the ranks of a group that have them to those that want them. Any size: values
/// travel in parts that both sides cut alike, packed only where they do not lie together.
class Exchange {
  public:
    using Select = std::function<ConstArrayView(const PieceRequest&)>;

    /// `group` must outlive the exchange.
    explicit Exchange(const parallel::CollectiveGroup& group) : group_(group) {}

    /// Collective; waits asleep. `select` finds what another rank asks this one for. No rank asks
    /// itself. What `select` throws, and memory that one rank lacks for messages, all ranks throw
    /// before any value moves.
    void run(std::span<const Fetch> wanted, const Select& select);

  private:
    const parallel::CollectiveGroup& group_;
    BufferPool pool_;
};

} // namespace uzushio::staging::inproc
