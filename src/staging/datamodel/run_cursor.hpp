#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/run_iterator.hpp"

namespace uzushio::staging {

/// Iterator over the contiguous memory runs of a view in stream order, for gathering, scattering or
/// checksums without a packed copy. It can stop and resume at any byte.
template <class Byte> class RunCursor {
  public:
    RunCursor(const BasicArrayView<Byte>& view, ComponentOrder order)
        : base_(view.data),
          runs_(view.count, view.layout, view.components, view.scalar_bytes, order) {}

    /// Return the next run, at most `max_bytes` of it; empty at the end.
    [[nodiscard]] std::span<Byte>
    next(std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max()) {
        const ByteRun run = runs_.next(max_bytes);
        if (run.bytes == 0)
            return {};
        return {base_ + run.offset, static_cast<std::size_t>(run.bytes)};
    }

    /// Remaining bytes.
    [[nodiscard]] std::int64_t left() const { return runs_.left(); }
    /// Bytes of a whole run. Short runs are better packed with `copy` than sent one by one.
    [[nodiscard]] std::int64_t run_bytes() const { return runs_.run_bytes(); }

  private:
    Byte* base_;
    RunIterator runs_;
};

template <class Byte> RunCursor(const BasicArrayView<Byte>&, ComponentOrder) -> RunCursor<Byte>;

/// Copy a cursor's next bytes to `to`, or from `from`. At least as many must be left.
inline void pack(RunCursor<const std::byte>& cursor, std::span<std::byte> to) {
    while (!to.empty()) {
        const auto run = cursor.next(std::ssize(to));
        std::memcpy(to.data(), run.data(), run.size());
        to = to.subspan(run.size());
    }
}
inline void unpack(std::span<const std::byte> from, RunCursor<std::byte>& cursor) {
    while (!from.empty()) {
        const auto run = cursor.next(std::ssize(from));
        std::memcpy(run.data(), from.data(), run.size());
        from = from.subspan(run.size());
    }
}

} // namespace uzushio::staging
