#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace uzushio::staging::mpi {

/// Pool of at most `max_buffers` buffers of one size for tiles, allocated when first needed. One
/// thread at a time; acquired buffers may outlive the pool.
class TileBuffers {
  public:
    TileBuffers(std::size_t bytes, std::size_t max_buffers)
        : bytes_(bytes), max_buffers_(max_buffers) {}

    /// Return a buffer; null if all are in use.
    [[nodiscard]] std::shared_ptr<std::byte[]> acquire() {
        if (!free_.empty()) {
            auto buffer = std::move(free_.back());
            free_.pop_back();
            return buffer;
        }
        if (allocated_ == max_buffers_)
            return nullptr;
        ++allocated_;
        return std::shared_ptr<std::byte[]>(new std::byte[bytes_]);
    }
    void release(std::shared_ptr<std::byte[]> buffer) { free_.push_back(std::move(buffer)); }
    /// Reduce the number of buffers by one that is not released.
    void discard() { --allocated_; }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    std::size_t bytes_;
    std::size_t max_buffers_;
    std::size_t allocated_ = 0;
    std::vector<std::shared_ptr<std::byte[]>> free_;
};

} // namespace uzushio::staging::mpi
