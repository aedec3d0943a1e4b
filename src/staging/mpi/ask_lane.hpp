#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "staging/mpi/buffers.hpp"
#include "staging/mpi/lane.hpp"
#include "staging/mpi/link.hpp"
#include "staging/mpi/outgoing.hpp"
#include "staging/mpi/tiles.hpp"
#include "staging/mpi/wish.hpp"
#include "staging/source.hpp"

namespace uzushio::staging::mpi {

/// Places for tiles in this reader's landing window.
using Places = std::vector<std::uint64_t>;

/// Asks the writer for pieces, and takes the tiles that it sends or puts.
class AskLane : public Lane {
  public:
    /// All are used as long as it lives. `places`: those that are free, if tiles are to be put.
    AskLane(Link& link, std::uint32_t channel, int writer, std::vector<const Fetch*> wanted,
            Buffers& buffers, Places* places, Outgoing& outgoing);
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
    bool open();
    bool start();
    bool finish();
    [[nodiscard]] Manner manner() const;

    Link& link_;
    std::uint32_t channel_;
    int writer_;
    std::vector<const Fetch*> wanted_;
    std::size_t asked_ = 0;  ///< of them
    std::size_t opened_ = 0; ///< of them: the writer has said that the values come
    std::optional<TileCutter> tiles_;
    std::optional<Tile> tile_; ///< the next one, of the piece opened last
    std::deque<UnderWay> under_way_;
    Buffers& buffers_;
    Places* places_;
    Outgoing& outgoing_;
};

} // namespace uzushio::staging::mpi
