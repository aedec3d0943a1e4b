#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "staging/transport/mpi/buffers.hpp"
#include "staging/transport/mpi/lane.hpp"
#include "staging/transport/mpi/link.hpp"
#include "staging/transport/mpi/outgoing.hpp"
#include "staging/transport/mpi/tiles.hpp"
#include "staging/transport/mpi/windows.hpp"
#include "staging/transport/mpi/wish.hpp"
#include "staging/transport/source.hpp"

namespace uzushio::staging::mpi {

/// Places for tiles in this reader's landing window.
using Places = std::vector<std::uint64_t>;

/// Asks the writer for pieces, and takes the tiles that it sends or puts. They come in the order in
/// which they were asked for, so that nothing is said before them.
class AskLane : public Lane {
  public:
    /// A piece, and how it is to be brought.
    struct Wanted {
        const Fetch* fetch = nullptr;
        Manner manner;
    };

    /// All are used as long as it lives. `windows`: if tiles are to be put; `places`: those that
    /// are free there.
    AskLane(const Link& link, const Windows* windows, std::uint32_t channel, int writer,
            std::vector<Wanted> wanted, Buffers& buffers, Places& places, Outgoing& outgoing);
    AskLane(const AskLane&) = delete;
    AskLane& operator=(const AskLane&) = delete;
    ~AskLane() override;

    bool progress() override;
    [[nodiscard]] bool done() const override;

  private:
    struct UnderWay {
        MPI_Request request = MPI_REQUEST_NULL;
        ArrayView to;
        Order order = Order::interleaved;
        std::shared_ptr<std::byte[]> buffer; ///< null if it goes where it belongs
        std::optional<std::uint64_t> place;
    };

    bool ask();
    bool start();
    bool finish();
    void listen();

    const Windows* windows_;
    std::uint32_t channel_;
    int writer_; ///< its rank among writers
    int at_;     ///< in MPI_COMM_WORLD
    std::vector<Wanted> wanted_;
    std::size_t asked_ = 0; ///< of them
    std::optional<TileCutter> tiles_;
    std::optional<Tile> tile_; ///< the next one, of the piece asked for last
    std::deque<UnderWay> under_way_;
    std::size_t buffered_ = 0; ///< of them: in a buffer, or at a place
    Buffers& buffers_;
    Places& places_;
    Outgoing& outgoing_;
};

} // namespace uzushio::staging::mpi
