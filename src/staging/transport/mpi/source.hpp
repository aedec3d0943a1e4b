#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/reader_options.hpp"
#include "staging/transport/mpi/peer_ranks.hpp"
#include "staging/transport/mpi/pending_sends.hpp"
#include "staging/transport/mpi/rank_transfer.hpp"
#include "staging/transport/mpi/request_transfer.hpp"
#include "staging/transport/mpi/tile_buffers.hpp"
#include "staging/transport/mpi/windows.hpp"
#include "staging/transport/step_source.hpp"

namespace uzushio::staging::mpi {

/// Source of a stream that is written in the same MPI job. Has no thread: MPI_Init is enough.
class MpiSource : public StepSource {
  public:
    /// Attach to the stream of this name. Collective over the group; waits for the writer up to the
    /// options' limit. If the windows of a mode are not ready within some seconds, because a
    /// process is stopped, values are sent until they are.
    [[nodiscard]] static std::unique_ptr<StepSource> attach(const std::string& stream,
                                                            const parallel::CollectiveGroup& group,
                                                            const ReaderOptions& options);

    MpiSource(PeerRanks peers, PendingWindows windows, std::uint32_t channel, MpiMode mode,
              bool latest_only = false);
    MpiSource(const MpiSource&) = delete;
    MpiSource& operator=(const MpiSource&) = delete;
    ~MpiSource() override;

    [[nodiscard]] AnnouncedStep next(std::chrono::nanoseconds limit) override;
    /// `limit` is the maximum time without progress.
    void fetch(const Announce& step, std::span<const Fetch> wanted,
               std::chrono::nanoseconds limit) override;
    void release(std::uint64_t sequence) override;
    void send(const Command& command) override;
    [[nodiscard]] std::vector<Reply> take_replies() override { return std::exchange(replies_, {}); }

  private:
    /// All arguments outlive the transfer.
    [[nodiscard]] std::unique_ptr<RankTransfer> transfer(const Announce& step, std::uint32_t writer,
                                                         const std::vector<const Fetch*>& wanted);
    [[nodiscard]] std::unique_ptr<RankTransfer>
    get_transfer(const Announce& step, std::uint32_t writer,
                 const std::vector<const Fetch*>& wanted);
    [[nodiscard]] std::unique_ptr<RankTransfer>
    request_transfer(const Announce& step, std::uint32_t writer,
                     std::span<const Fetch* const> wanted);
    [[nodiscard]] const Windows* windows() const; ///< null if they are not ready
    void send_control(const Message& message);
    void wait_for_windows(std::chrono::nanoseconds limit) const;

    PeerRanks ranks_;
    PendingWindows windows_;
    std::uint32_t channel_;
    MpiMode mode_;
    bool latest_only_;
    bool asked_ = false; ///< for the next step
    bool ended_ = false;
    std::vector<Reply> replies_;
    bool aborted_ = false; ///< a fetch has failed: its remaining messages may still arrive
    TileBuffers buffers_;
    LandingSlots slots_;
    PendingSends sends_;
};

} // namespace uzushio::staging::mpi
