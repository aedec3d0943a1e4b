#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace uzushio::staging::mpi {

/// What the ranks of a writer and those of a reader share: a communicator, the writer's ranks
/// first, and windows if a mode needs them.
///
/// To make and to free such things is collective, and nobody knows when the other side will be
/// there once more, or whether. So one link is made for two groups of processes, whatever streams
/// they open after each other, and never freed: a job has only so many groups, and MPI_Finalize
/// takes the rest. Attaching again costs a few small messages.
///
/// Making one has no time limit: MPI makes communicators over some of the processes, and windows,
/// in calls that block (MPI 4 too), and what both sides have begun cannot be taken back. If a
/// process of either side is stopped between its letter and this, the others' wait lasts until it
/// goes on; if it dies, MPI ends the job. To end the job by ourselves after a limit would end a
/// solver because a viewer hangs, while its service's thread alone is held up.
class Link {
  public:
    /// Ranks are those in MPI_COMM_WORLD. Collective over both groups if these two have no link
    /// yet, and then waits; two links are not to be made by the same rank 0 of a writer at once.
    [[nodiscard]] static std::shared_ptr<Link> between(const std::vector<std::int32_t>& writers,
                                                       const std::vector<std::int32_t>& readers);

    [[nodiscard]] MPI_Comm comm() const { return comm_; }
    /// Rank in `comm` of a rank of the reader; those of the writer are as they are.
    [[nodiscard]] int reader(int rank) const { return writers_ + rank; }
    [[nodiscard]] int readers() const { return size_ - writers_; }
    [[nodiscard]] int writers() const { return writers_; }

    /// The window through which readers get from writers' memory; made when first asked for, by
    /// all. Addresses in it are those of the writer's process. Errors are returned.
    [[nodiscard]] MPI_Win exposed();

    /// The window through which writers put into the readers' memory, of which each reader has
    /// `landing_bytes`; made when first asked for, by all.
    [[nodiscard]] MPI_Win landing();
    /// This reader's own part of it.
    [[nodiscard]] std::span<std::byte> landed() const { return {landed_, landing_bytes}; }

    /// Whether it holds on all ranks of both sides. Collective; waits asleep.
    [[nodiscard]] bool all(bool holds) const;

    static constexpr std::size_t landing_bytes = std::size_t{16} << 20;

  private:
    Link(const std::vector<std::int32_t>& writers, const std::vector<std::int32_t>& readers);

    std::vector<std::int32_t> ranks_;
    int writers_ = 0;
    int size_ = 0;
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Win exposed_ = MPI_WIN_NULL;
    MPI_Win landing_ = MPI_WIN_NULL;
    std::byte* landed_ = nullptr;
};

/// MPI's text of an error code.
[[nodiscard]] std::string text_of(int error);

} // namespace uzushio::staging::mpi
