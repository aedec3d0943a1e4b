#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "staging/queue/held_steps.hpp"
#include "staging/transport/mpi/buffers.hpp"
#include "staging/transport/mpi/link.hpp"
#include "staging/transport/mpi/outgoing.hpp"
#include "staging/transport/mpi/tiles.hpp"
#include "staging/transport/mpi/windows.hpp"
#include "staging/transport/mpi/wish.hpp"

namespace uzushio::staging::mpi {

/// Brings one rank of a reader the pieces that it asks this rank of the writer for: one after the
/// other, tile by tile, a few under way at a time. For the service's thread.
class PieceSender {
  public:
    /// All are used as long as it lives. `rank`: of the writer; `to`: of the reader. `windows`: in
    /// the making, if tiles may be put.
    PieceSender(const Link& link, WindowsToCome windows, std::uint32_t channel, int rank, int to,
                const HeldSteps& steps, Buffers& buffers, Outgoing& outgoing);
    PieceSender(const PieceSender&) = delete;
    PieceSender& operator=(const PieceSender&) = delete;
    ~PieceSender(); ///< abandons what is under way

    /// After a wish that cannot be granted all others are ignored: what comes is told by its order
    /// alone, and the reader has to attach again.
    void take(std::span<const std::byte> wish);
    /// The reader allows a tile to be put at a place in its landing window (encode_grant).
    void grant(std::span<const std::byte> bytes);
    /// Do what can be done without waiting. Returns whether anything moved.
    bool progress();
    [[nodiscard]] bool idle() const { return jobs_.empty() && under_way_.empty(); }

  private:
    struct Job {
        Wish wish;
        std::shared_ptr<const HeldStep> step;
        ConstArrayView view;
        TileCutter tiles;
        std::optional<Tile> tile; ///< the next one
    };
    /// A tile that MPI reads from a buffer, or from the step itself.
    struct UnderWay {
        MPI_Request request = MPI_REQUEST_NULL;
        std::shared_ptr<const HeldStep> step;
        std::shared_ptr<std::byte[]> buffer;
    };

    void refuse(ErrorCode code, std::string text);
    /// Returns false if there is no buffer or no place for it now.
    bool send(Job& job);
    bool put(Job& job);

    WindowsToCome windows_;
    std::uint32_t channel_;
    int rank_;
    int to_; ///< its rank among readers
    int at_; ///< in MPI_COMM_WORLD
    const HeldSteps& steps_;
    Buffers& buffers_;
    Outgoing& outgoing_;
    std::deque<Job> jobs_;
    std::deque<UnderWay> under_way_;
    std::deque<std::uint64_t> grants_;
    bool refused_ = false;
};

} // namespace uzushio::staging::mpi
