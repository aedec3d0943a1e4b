#include "staging/transport/queued/heap_segment.hpp"

#include <cstdlib>

#include "staging/require.hpp"

namespace uzushio::staging::queued {
namespace {

constexpr std::size_t page = 4096;

class HeapSegment final : public Segment {
  public:
    explicit HeapSegment(std::size_t bytes)
        : bytes_((bytes + page - 1) / page * page),
          memory_(static_cast<std::byte*>(std::aligned_alloc(page, bytes_))) {
        require(memory_ != nullptr, "Not enough memory for ", bytes,
                " bytes of a step: lower the queue's depth, or use more ranks.");
    }
    std::span<std::byte> bytes() override { return {memory_.get(), bytes_}; }

  private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    std::size_t bytes_;
    std::unique_ptr<std::byte, Free> memory_;
};

} // namespace

std::unique_ptr<Segment> make_heap_segment(std::size_t bytes) {
    return std::make_unique<HeapSegment>(bytes);
}

} // namespace uzushio::staging::queued
