#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "staging/datamodel/run_cursor.hpp"
#include "staging/transport/mpi/buffers.hpp"
#include "staging/transport/mpi/lane.hpp"
#include "staging/transport/mpi/link.hpp"
#include "staging/transport/mpi/outgoing.hpp"
#include "staging/transport/mpi/tiles.hpp"
#include "staging/transport/mpi/windows.hpp"
#include "staging/transport/source.hpp"

namespace uzushio::staging::mpi {

/// Gets pieces from the writer's memory, without its help but that it calls MPI often meanwhile.
/// Long runs go where they belong; of short ones, what lies between them comes too, into a buffer,
/// if that is cheaper than many gets.
///
/// MPI may refuse a get of memory that is there (PullLane says when): then nothing more is got, and
/// once all else is through, `refused` tells which pieces are left.
class GetLane : public Lane {
  public:
    /// A piece, and the values in the writer's memory: an address there, never looked at here.
    struct Wanted {
        ArrayView to;
        ConstArrayView from;
        Order order = Order::interleaved;
    };

    /// `windows`: for pull; all are used as long as it lives.
    GetLane(const Link& link, const Windows& windows, std::uint32_t channel, int writer,
            std::vector<Wanted> wanted, Buffers& buffers, Outgoing& outgoing);
    GetLane(const GetLane&) = delete;
    GetLane& operator=(const GetLane&) = delete;
    ~GetLane() override;

    bool progress() override;
    [[nodiscard]] bool done() const override;

    /// The first of the pieces that will not come: neither it nor those behind it are there.
    [[nodiscard]] std::optional<std::size_t> refused() const;
    /// MPI's error, for people.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }

    /// Most bytes of a get that brings what lies between, too: of the buffers.
    static constexpr std::size_t span_bytes = std::size_t{4} << 20;

  private:
    /// Values in a buffer, and where they belong.
    struct Part {
        ConstArrayView from;
        ArrayView to;
    };
    struct UnderWay {
        std::size_t piece = 0; ///< that all of it is of
        std::vector<MPI_Request> requests;
        std::shared_ptr<std::byte[]> buffer; ///< null if all goes where it belongs
        std::vector<Part> parts;
    };

    [[nodiscard]] bool open();
    [[nodiscard]] bool start();
    void get_runs(UnderWay& batch);
    [[nodiscard]] bool get_spans(UnderWay& batch);
    /// Returns false if MPI refuses it.
    [[nodiscard]] bool get(UnderWay& batch, std::byte* into, const std::byte* from,
                           std::size_t bytes);
    [[nodiscard]] bool finish();
    void refuse(std::size_t piece, int error);
    void abandon_all(UnderWay batch);

    void tell(std::uint64_t bytes);

    const Windows& windows_;
    std::uint32_t channel_;
    int writer_; ///< its rank among writers
    int at_;     ///< in MPI_COMM_WORLD
    std::vector<Wanted> wanted_;
    std::size_t opened_ = 0; ///< of them
    std::deque<UnderWay> under_way_;
    std::optional<std::size_t> refused_; ///< the first piece of which a get failed
    std::string refusal_;
    Buffers& buffers_;
    Outgoing& outgoing_;

    // Of the piece opened last: runs, or spans; both empty at its end.
    std::optional<RunCursor<std::byte>> to_;
    std::optional<RunCursor<const std::byte>> from_;
    std::optional<TileCutter> spans_;
    std::optional<Tile> span_; ///< the next one
};

} // namespace uzushio::staging::mpi
