#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "parallel/aligned_array.hpp"

namespace uzushio::staging {

/// Memory for the arrays of one step after the other. What a step uses again costs nothing; what a
/// step has not used is freed at its end.
class BufferPool {
  public:
    /// At least so many bytes, aligned to 64, valid until `end_step`.
    [[nodiscard]] std::span<std::byte> take(std::size_t bytes);
    void end_step();

  private:
    using Memory = parallel::AlignedArray<std::byte>;
    std::vector<Memory> used_;
    std::vector<Memory> free_;
};

} // namespace uzushio::staging
