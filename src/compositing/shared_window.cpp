#include "compositing/shared_window.hpp"

namespace uzushio::compositing {

SharedWindow::SharedWindow(MPI_Comm node, std::size_t bytes) {
    int ranks = 0;
    MPI_Comm_size(node, &ranks);
    // Each part on pages of its own: nobody waits for a line that another one writes.
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    void* own = nullptr;
    MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, info, node, &own, &window_);
    MPI_Info_free(&info);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    for (int rank = 0; rank < ranks; ++rank) {
        MPI_Aint size = 0;
        int unit = 0;
        void* part = nullptr;
        MPI_Win_shared_query(window_, rank, &size, &unit, static_cast<void*>(&part));
        parts_.push_back(static_cast<std::byte*>(part));
    }
}

SharedWindow::~SharedWindow() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0 || window_ == MPI_WIN_NULL)
        return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
}

} // namespace uzushio::compositing
