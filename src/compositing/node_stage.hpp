#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "compositing/merge.hpp"
#include "compositing/shared_window.hpp"
#include "compositing/signal.hpp"
#include "parallel/communicator.hpp"

namespace uzushio::compositing {

/// Ranks of one node that follow each other in the visibility order, and the one that gets what
/// their images give. All numbers are ranks of the whole communicator.
struct Segment {
    std::vector<int> members;
    int leader = -1;
};

/// Direct-send through shared memory: ranks of one node leave their images where all of them can
/// read, and any of them blends any tile of the picture, each pixel read and written once.
///
/// Nobody waits who is not needed: a rank that has left its image goes its way, and the ranks that
/// come last, a few for each processor of the node, do the work. So ranks that share processors are
/// not switched to and fro.
///
/// The participants of a picture are the members of its segment and its leader. Ranks that are in
/// no part of a picture may be many pictures ahead. What is written when, in the memory of a slot:
///
/// 1. A rank writes its image and its header between the end of its own last picture in the slot
///    (`done` at that picture's leader) and its arrival; others read them from when all
///    participants have arrived until `done`.
/// 2. A participant arrives for a picture when its own last picture in the slot is done, so its
///    word among the leader's arrivals stays until the picture is done, and it never arrives for
///    two pictures of one slot at a time.
/// 3. A leader is a participant of each picture that it leads, also without an image of its own.
///    So its result memory is written, and its counters of tiles count, for one picture at a time,
///    between its arrival, which ends the time for which it may read the last result, and `done`.
/// 4. Arrivals of another picture, or with another hash of visibility orders, do not count: ranks
///    that were given different orders never blend.
class NodeStage {
  public:
    /// Collective over `comm`; `ranks_per_node` takes fewer ranks for a node than there are, if it
    /// is not 0.
    NodeStage(MPI_Comm comm, const Shape& shape, int frames, int ranks_per_node);
    ~NodeStage();
    /// Let the destructor wait for nobody; what is shared then stays until the process ends.
    void abandon();

    /// Cut a visibility order into segments; the same on all ranks. The segment that holds `root`
    /// is led by it, and so is the only one there is, of several ranks, if it is on the root's
    /// node.
    [[nodiscard]] std::vector<Segment> segments(std::span<const int> order, int root) const;

    /// Whether this rank's last picture in `slot` is done: its image is read no more.
    [[nodiscard]] bool is_free(int slot) const;
    /// Help with it, and sleep until it may be done, for at most `limit`.
    void wait_until_free(int slot, std::chrono::microseconds limit);
    /// Memory for this rank's image of the next picture in `slot`, which must be free.
    [[nodiscard]] std::span<std::byte> canvas(int slot);

    /// Begin picture `number` in `slot`, which must be free: leave this rank's image, unless it is
    /// in the canvas already, and help if it is the last one. The result has width `to`. `orders`:
    /// hash of the visibility orders, the same on all participants.
    void submit(int slot, std::uint64_t number, std::uint64_t orders,
                std::shared_ptr<const Segment> segment, const Picture& picture, Width to);
    /// Number of this rank's last picture in `slot`.
    [[nodiscard]] std::uint64_t number(int slot) const;
    /// Add to `ranks` the participants of it that have not arrived.
    void add_missing(int slot, std::vector<int>& ranks) const;
    /// A participant that had arrived for it with another hash of orders; -1: none.
    [[nodiscard]] int conflict(int slot) const;

    /// Help with the picture in `slot` if it can be helped. Tells whether this rank has nothing
    /// left to do or wait for: a leader waits for the picture, others for nothing that may last.
    bool progress(int slot);
    /// Sleep until there may be something new in `slot`, for at most `limit`.
    void wait(int slot, std::chrono::microseconds limit);

    /// The composited image of the slot's segment, at its leader.
    [[nodiscard]] std::span<const std::byte> result(int slot) const;

  private:
    struct Control;
    struct Header;
    struct Slot;

    [[nodiscard]] std::byte* at(int rank, int slot) const;
    [[nodiscard]] Control& control(int rank, int slot) const;
    [[nodiscard]] std::atomic<std::uint64_t>* arrivals(int rank, int slot) const;
    [[nodiscard]] Header& header(int rank, int slot) const;
    [[nodiscard]] std::uint8_t* chunks(int rank, int slot) const;
    [[nodiscard]] std::byte* image(int rank, int slot) const;
    [[nodiscard]] std::byte* result(int rank, int slot) const;

    void meet(int slot);
    void leave(int slot, const Picture& picture);
    void arrive(int slot);
    void help(int slot);
    void blend_tile(const Slot& slot, int index, int tile);
    [[nodiscard]] int tile_pixels() const;
    void note(int rank, int slot, Range interval, RunList& runs) const;

    Shape shape_; ///< in image order, whatever tiles of messages are
    std::unique_ptr<parallel::Communicator> node_;
    int workers_ = 1;
    std::vector<int> node_of_;  ///< of each rank
    std::vector<int> local_of_; ///< number of each rank on its node
    std::size_t control_bytes_ = 0, header_bytes_ = 0, image_bytes_ = 0, slot_bytes_ = 0;
    SharedWindow window_;
    std::vector<Slot> slots_;
    // For one tile at a time.
    std::vector<RunList> runs_;
    std::vector<Part> parts_;
    std::vector<Cursor> cursors_;
    Merger merger_;
};

} // namespace uzushio::compositing
