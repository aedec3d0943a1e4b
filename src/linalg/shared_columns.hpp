#pragma once

#include <cstdint>
#include <optional>

#include "domain/view.hpp"
#include "linalg/stage_layout.hpp"
#include "parallel/communicator.hpp"
#include "parallel/shared_arrays.hpp"

namespace uzushio::linalg {

/// Columns of all ranks of a node in memory that all of them read and write: instead of messages, a
/// rank copies each plane to the columns and back while the plane is in its cache.
///
/// In a solve all ranks call `begin`, `put`, `meet`, then use their own columns, `meet`, `get` and
/// `end`.
class SharedColumns {
  public:
    /// Allocate the columns of this rank (collective).
    SharedColumns(const parallel::Communicator& comm, const StageLayout& columns);

    /// Return whether this rank has access to the columns of all.
    [[nodiscard]] bool is_complete() const { return memory_.is_complete(); }
    /// Return the columns of this rank.
    [[nodiscard]] domain::View<double> own() const { return columns_of(rank_); }

    /// Wait until no rank reads the columns of the solve before.
    void begin() const;
    /// Copy the values of a box from `planes` to the columns of all ranks.
    void put(const domain::View<const double>& planes, const domain::Box<3>& box) const;
    /// Wait for all ranks.
    void meet() { memory_.wait(memory_.arrive()); }
    /// Copy the values of a box from the columns of all ranks to `planes`.
    void get(const domain::View<double>& planes, const domain::Box<3>& box) const;
    /// Tell the other ranks that this one reads no more.
    void end() { last_ = memory_.arrive(); }

  private:
    [[nodiscard]] domain::View<double> columns_of(int rank) const;

    int rank_, ranks_;
    StageLayout layout_;
    parallel::SharedArrays memory_;
    std::optional<std::uint64_t> last_; ///< point at the end of the solve before
};

} // namespace uzushio::linalg
