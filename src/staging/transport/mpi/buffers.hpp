#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace uzushio::staging::mpi {

/// Memory for tiles, used again and again: so many buffers of one size at most, each taken from the
/// system when first needed. One thread at a time; what was taken may outlive it.
class Buffers {
  public:
    Buffers(std::size_t bytes, std::size_t most) : bytes_(bytes), most_(most) {}

    /// Null if all are in use.
    [[nodiscard]] std::shared_ptr<std::byte[]> take() {
        if (!free_.empty()) {
            auto buffer = std::move(free_.back());
            free_.pop_back();
            return buffer;
        }
        if (made_ == most_)
            return nullptr;
        ++made_;
        return std::shared_ptr<std::byte[]>(new std::byte[bytes_]);
    }
    void give_back(std::shared_ptr<std::byte[]> buffer) { free_.push_back(std::move(buffer)); }
    /// It will not come back.
    void forget() { --made_; }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    std::size_t bytes_;
    std::size_t most_;
    std::size_t made_ = 0;
    std::vector<std::shared_ptr<std::byte[]>> free_;
};

} // namespace uzushio::staging::mpi
