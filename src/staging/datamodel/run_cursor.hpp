#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/run_walk.hpp"

namespace uzushio::staging {

/// Walks through the values of a view in the order of a stream and hands out their memory, one
/// contiguous run after the other: to gather what is sent, to scatter what arrives, or to sum it
/// up, without a packed copy. It stops and goes on anywhere, also within a value.
template <class Byte> class RunCursor {
  public:
    RunCursor(const BasicArrayView<Byte>& view, Order order)
        : base_(view.data),
          walk_(view.count, view.layout, view.components, view.scalar_bytes, order) {}

    /// The next run, at most `most` bytes of it; empty at the end.
    [[nodiscard]] std::span<Byte>
    next(std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
        const Run run = walk_.next(most);
        if (run.bytes == 0)
            return {};
        return {base_ + run.offset, static_cast<std::size_t>(run.bytes)};
    }

    /// Bytes not handed out yet.
    [[nodiscard]] std::int64_t left() const { return walk_.left(); }
    /// Bytes of a whole run: short ones are better packed with `copy` than sent one by one.
    [[nodiscard]] std::int64_t run_bytes() const { return walk_.run_bytes(); }

  private:
    Byte* base_;
    RunWalk walk_;
};

template <class Byte> RunCursor(const BasicArrayView<Byte>&, Order) -> RunCursor<Byte>;

} // namespace uzushio::staging
