#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace uzushio::jet {

/// Arrays of the length of a row, which kernels use between their loops.
class RowBuffers {
  public:
    /// Make at least `count` arrays of at least `length` values; those made before are invalid.
    void reserve(std::size_t count, std::int64_t length) {
        length_ = (static_cast<std::size_t>(length) + 7) / 8 * 8;
        if (values_.size() < count * length_)
            values_.resize(count * length_);
    }
    [[nodiscard]] double* operator[](std::size_t number) {
        return values_.data() + number * length_;
    }

  private:
    std::size_t length_ = 0;
    std::vector<double> values_;
};

} // namespace uzushio::jet
