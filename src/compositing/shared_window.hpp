#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace uzushio::compositing {

/// Memory that the ranks of one node share (an MPI-3 window): a part of each of them.
class SharedWindow {
  public:
    /// `bytes` of every rank of `node`, zero at first (collective).
    SharedWindow(MPI_Comm node, std::size_t bytes);
    SharedWindow(const SharedWindow&) = delete;
    SharedWindow& operator=(const SharedWindow&) = delete;
    /// Collective, unless abandoned.
    ~SharedWindow();

    /// Leave the memory to the end of the process: for a rank that cannot wait for the others.
    void abandon() { window_ = MPI_WIN_NULL; }

    /// The part of `rank`.
    [[nodiscard]] std::byte* part(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }

  private:
    MPI_Win window_ = MPI_WIN_NULL;
    std::vector<std::byte*> parts_;
};

} // namespace uzushio::compositing
