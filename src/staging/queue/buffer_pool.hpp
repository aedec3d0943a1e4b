#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "parallel/aligned_array.hpp"

namespace uzushio::staging {

/// Pool of memory for the arrays of a step. Memory is reused by the next step; memory that a step
/// does not use is freed at its end.
class BufferPool {
  public:
    /// Allocate `bytes` bytes, aligned to 64, valid until `end_step`.
    [[nodiscard]] std::span<std::byte> take(std::size_t bytes);
    void end_step();

  private:
    using Memory = parallel::AlignedArray<std::byte>;
    std::vector<Memory> used_;
    std::vector<Memory> free_;
};

} // namespace uzushio::staging
