#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "parallel/backoff.hpp"
#include "parallel/communicator.hpp"

namespace uzushio::parallel {

/// Memory of each rank of a node that all of its ranks read and write, with a counter of its
/// arrivals at points that all ranks pass in the same order.
class SharedArrays {
  public:
    /// Allocate `bytes` of this rank, filled with zeros (collective).
    SharedArrays(const Communicator& comm, std::size_t bytes);
    SharedArrays(const SharedArrays&) = delete;
    SharedArrays& operator=(const SharedArrays&) = delete;
    /// Local: other ranks keep their access to this rank's memory.
    ~SharedArrays();

    /// Return whether this rank has access to the memory of all: not if they are on several nodes,
    /// or too little shared memory is free.
    [[nodiscard]] bool is_complete() const { return complete_; }
    /// Return the memory of a rank, which begins a page.
    [[nodiscard]] std::byte* of(int rank) const;
    /// Tell the other ranks that this one has arrived at its next point. Return its number.
    std::uint64_t arrive();
    /// Return whether all ranks have arrived at a point: what they wrote before is visible.
    [[nodiscard]] bool have_arrived(std::uint64_t point) const;
    /// Wait for all ranks at a point; throws `std::runtime_error` with the ranks that did not
    /// arrive within `limit`.
    void wait(std::uint64_t point, std::chrono::nanoseconds limit = exchange_limit) const;

  private:
    [[nodiscard]] std::string missing(std::uint64_t point) const;
    [[nodiscard]] bool map(const Communicator& comm, std::size_t bytes);

    int rank_;
    struct Part {
        std::byte* first = nullptr;
        std::size_t bytes = 0; ///< with the page of the counter
    };
    std::vector<Part> parts_;
    bool complete_;
};

} // namespace uzushio::parallel
