#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/reader_options.hpp"
#include "staging/transport/mpi/ask_lane.hpp"
#include "staging/transport/mpi/buffers.hpp"
#include "staging/transport/mpi/lane.hpp"
#include "staging/transport/mpi/link.hpp"
#include "staging/transport/mpi/outgoing.hpp"
#include "staging/transport/mpi/windows.hpp"
#include "staging/transport/source.hpp"

namespace uzushio::staging::mpi {

/// Reads a stream that is written in the same MPI job. Needs no thread: MPI_Init is enough.
class MpiSource : public Source {
  public:
    /// Attach to the stream of this name. Collective over the group; waits for the writer up to the
    /// options' limit. Where a mode needs windows that are not there within some seconds, because
    /// a process is stopped, values are sent until they are.
    [[nodiscard]] static std::unique_ptr<Source> attach(const std::string& stream,
                                                        const parallel::CollectiveGroup& group,
                                                        const ReaderOptions& options);

    MpiSource(Link link, WindowsToCome windows, std::uint32_t channel, MpiMode mode);
    MpiSource(const MpiSource&) = delete;
    MpiSource& operator=(const MpiSource&) = delete;
    ~MpiSource() override;

    [[nodiscard]] Announced next(std::chrono::nanoseconds limit) override;
    /// `limit` is for silence: as long as something comes, it goes on.
    void fetch(const Announce& step, std::span<const Fetch> wanted,
               std::chrono::nanoseconds limit) override;
    void release(std::uint64_t sequence) override;

  private:
    /// All are used as long as the lane lives.
    [[nodiscard]] std::unique_ptr<Lane> lane(const Announce& step, std::uint32_t writer,
                                             const std::vector<const Fetch*>& wanted);
    [[nodiscard]] std::unique_ptr<Lane> pull_lane(const Announce& step, std::uint32_t writer,
                                                  const std::vector<const Fetch*>& wanted);
    [[nodiscard]] std::unique_ptr<Lane> ask_lane(const Announce& step, std::uint32_t writer,
                                                 std::span<const Fetch* const> wanted);
    [[nodiscard]] const Windows* windows() const; ///< null if there are none now
    void say(const Message& message);
    void wait_for_windows(std::chrono::nanoseconds limit) const;

    Link link_;
    WindowsToCome windows_;
    std::uint32_t channel_;
    MpiMode mode_;
    bool asked_ = false; ///< for the next step
    bool ended_ = false;
    bool broken_ = false; ///< a fetch was given up: what is left of it may still come
    Buffers buffers_;
    Places places_;
    Outgoing outgoing_;
};

} // namespace uzushio::staging::mpi
