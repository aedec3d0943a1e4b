#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compositing/image.hpp"
#include "compositing/timeline_semaphore.hpp"

namespace uzushio::compositing {

inline constexpr std::size_t cache_line = 64;

/// Number of pixels whose activity is stored in one byte.
inline constexpr int chunk_pixels = 1024;

/// Tile counters and semaphores of a slot, at the leader. The counters hold the number of a picture
/// in their upper half and a count in the lower.
struct SlotControl {
    alignas(cache_line) std::atomic<std::uint64_t> next;
    alignas(cache_line) std::atomic<std::uint64_t> finished;
    alignas(cache_line) TimelineSemaphore all_arrived;
    alignas(cache_line) TimelineSemaphore done;
};

/// Bounds of an image; one byte for each chunk of pixels, whether it is active, follows.
struct ImageHeader {
    Rectangle bounds;
    bool cleared = false; ///< active chunks have background outside the bounds
};

/// Memory that the ranks of a node share (an MPI-3 window): for each rank and slot a control block,
/// arrivals, an image with header, and a result. Every part begins on a page of its own.
class NodeMemory {
  public:
    /// Allocate and initialise (collective over `node`).
    NodeMemory(MPI_Comm node, const ImageShape& shape, int slots);
    NodeMemory(const NodeMemory&) = delete;
    NodeMemory& operator=(const NodeMemory&) = delete;
    /// Collective, unless abandoned.
    ~NodeMemory();

    /// Let the destructor free nothing: for a rank that cannot wait for the others.
    void abandon() { window_ = MPI_WIN_NULL; }

    [[nodiscard]] SlotControl& control(int rank, int slot) const {
        return *reinterpret_cast<SlotControl*>(at(rank, slot));
    }
    /// Return an array with a word for each rank of the node.
    [[nodiscard]] std::atomic<std::uint64_t>* arrivals(int rank, int slot) const {
        return reinterpret_cast<std::atomic<std::uint64_t>*>(at(rank, slot) + sizeof(SlotControl));
    }
    [[nodiscard]] ImageHeader& header(int rank, int slot) const {
        return *reinterpret_cast<ImageHeader*>(at(rank, slot) + control_bytes_);
    }
    [[nodiscard]] std::uint8_t* active_chunks(int rank, int slot) const {
        return reinterpret_cast<std::uint8_t*>(&header(rank, slot) + 1);
    }
    [[nodiscard]] std::byte* image(int rank, int slot) const {
        return at(rank, slot) + header_bytes_;
    }
    [[nodiscard]] std::byte* result(int rank, int slot) const {
        return at(rank, slot) + header_bytes_ + image_bytes_;
    }

    /// Map the pages of an image into this process. The first access to 16 images of 4 MiB takes
    /// ten times as long as compositing them.
    void map_image(int rank, int slot) const;
    void map_result(int rank, int slot) const;

  private:
    [[nodiscard]] std::byte* at(int rank, int slot) const {
        return parts_[static_cast<std::size_t>(rank)] +
               static_cast<std::size_t>(slot) * slot_bytes_;
    }

    std::size_t control_bytes_, header_bytes_, image_bytes_, slot_bytes_;
    MPI_Win window_ = MPI_WIN_NULL;
    std::vector<std::byte*> parts_; ///< of each rank
};

} // namespace uzushio::compositing
