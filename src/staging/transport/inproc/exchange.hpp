#pragma once

#include <functional>
#include <span>

#include "parallel/collective_group.hpp"
#include "staging/queue/buffer_pool.hpp"
#include "staging/transport/step_source.hpp"

namespace uzushio::staging::inproc {

/// Transfer of pieces between the ranks of a group, of any size. Values travel in messages that
/// both sides cut alike, packed only if they are not contiguous.
class Exchange {
  public:
    using Select = std::function<ConstArrayView(const PieceRequest&)>;

    /// `group` must outlive the exchange.
    explicit Exchange(const parallel::CollectiveGroup& group) : group_(group) {}

    /// Fetch pieces from other ranks. Collective; waits asleep. `select` returns the values of
    /// another rank's request; no rank requests from itself. If `select` throws or a rank lacks
    /// memory, all ranks throw before any value moves.
    void run(std::span<const Fetch> wanted, const Select& select);

  private:
    const parallel::CollectiveGroup& group_;
    BufferPool pool_;
};

} // namespace uzushio::staging::inproc
