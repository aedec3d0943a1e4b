#include "compositing/node_memory.hpp"

#include <new>

#if defined(__linux__)
#include <sys/mman.h>

#include "parallel/communicator.hpp"
#endif

namespace uzushio::compositing {

namespace {

std::size_t padded(std::size_t bytes) {
    constexpr std::size_t page = 4096;
    return (bytes + page - 1) / page * page;
}

int size_of(MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    return size;
}

void map_pages([[maybe_unused]] std::byte* first, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_POPULATE_READ)
    (void)madvise(first, bytes, MADV_POPULATE_READ); // if it fails, page faults map the pages
#endif
}

} // namespace

NodeMemory::NodeMemory(MPI_Comm node, const ImageShape& shape, int slots)
    : control_bytes_(padded(sizeof(SlotControl) + static_cast<std::size_t>(size_of(node)) *
                                                      sizeof(std::atomic<std::uint64_t>))),
      header_bytes_(control_bytes_ +
                    padded(sizeof(ImageHeader) +
                           static_cast<std::size_t>(shape.pixels()) / chunk_pixels + 1)),
      image_bytes_(padded(static_cast<std::size_t>(shape.pixels()) * shape.bytes())),
      slot_bytes_(
          header_bytes_ + image_bytes_ +
          padded(static_cast<std::size_t>(shape.pixels()) * shape.bytes(ChannelWidth::wide))) {
    int ranks = 0, own_rank = 0;
    MPI_Comm_size(node, &ranks);
    MPI_Comm_rank(node, &own_rank);
    // Each part on pages of its own: no false sharing between ranks.
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    void* own = nullptr;
    MPI_Win_allocate_shared(static_cast<MPI_Aint>(slot_bytes_ * static_cast<std::size_t>(slots)), 1,
                            info, node, &own, &window_);
    MPI_Info_free(&info);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    for (int rank = 0; rank < ranks; ++rank) {
        MPI_Aint size = 0;
        int unit = 0;
        void* part = nullptr;
        MPI_Win_shared_query(window_, rank, &size, &unit, static_cast<void*>(&part));
        parts_.push_back(static_cast<std::byte*>(part));
    }
    for (int slot = 0; slot < slots; ++slot) {
        new (&control(own_rank, slot)) SlotControl{};
        for (int rank = 0; rank < ranks; ++rank)
            new (arrivals(own_rank, slot) + rank) std::atomic<std::uint64_t>{};
        new (&header(own_rank, slot)) ImageHeader{};
    }
    MPI_Barrier(node);
}

NodeMemory::~NodeMemory() {
    if (parallel::mpi_is_finalized() || window_ == MPI_WIN_NULL)
        return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
}

void NodeMemory::map_image(int rank, int slot) const { map_pages(image(rank, slot), image_bytes_); }

void NodeMemory::map_result(int rank, int slot) const {
    map_pages(result(rank, slot), slot_bytes_ - header_bytes_ - image_bytes_);
}

} // namespace uzushio::compositing
