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
class NodeStage {
  public:
    /// Collective over `comm`; `ranks_per_node` takes fewer ranks for a node than there are, if it
    /// is not 0. `limit`: seconds that a call waits at most, if it is not 0.
    NodeStage(MPI_Comm comm, const Shape& shape, int frames, int ranks_per_node, double limit);
    ~NodeStage();
    /// Let the destructor wait for nobody; what is shared then stays until the process ends.
    void abandon();

    /// Cut a visibility order into segments; the same on all ranks. The segment that holds `root`
    /// is led by it, and so is the only one there is, of several ranks, if it is on the root's
    /// node.
    [[nodiscard]] std::vector<Segment> segments(std::span<const int> order, int root) const;

    /// Memory for this rank's image of the picture in `slot`; free for it from now on (waits until
    /// the picture before it is finished, and throws `std::runtime_error` after the limit).
    [[nodiscard]] std::span<std::byte> canvas(int slot);

    /// Begin picture `number` > 0 in `slot`: leave this rank's image, unless it is in the canvas
    /// already, and help if it is the last one. The result has width `to`.
    void submit(int slot, std::uint32_t number, std::shared_ptr<const Segment> segment,
                const Picture& picture, Width to);

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
    [[nodiscard]] Header& header(int rank, int slot) const;
    [[nodiscard]] std::uint8_t* chunks(int rank, int slot) const;
    [[nodiscard]] std::byte* image(int rank, int slot) const;
    [[nodiscard]] std::byte* result(int rank, int slot) const;

    void meet(int slot);
    void leave(int slot, const Picture& picture);
    bool arrive(int slot);
    void help(int slot);
    void blend_tile(const Slot& slot, int index, int tile);
    [[nodiscard]] int tile_pixels() const;
    void note(int rank, int slot, Range interval, RunList& runs) const;

    Shape shape_; ///< in image order, whatever tiles of messages are
    std::unique_ptr<parallel::Communicator> node_;
    int workers_ = 1;
    double limit_ = 0;
    std::vector<int> node_of_;  ///< of each rank
    std::vector<int> local_of_; ///< number of each rank on its node
    std::size_t header_bytes_ = 0, image_bytes_ = 0, slot_bytes_ = 0;
    SharedWindow window_;
    std::vector<Slot> slots_;
    // For one tile at a time.
    std::vector<RunList> runs_;
    std::vector<Part> parts_;
    std::vector<Cursor> cursors_;
    Merger merger_;
};

} // namespace uzushio::compositing
