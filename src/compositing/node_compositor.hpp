#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "compositing/layer_merger.hpp"
#include "compositing/node_memory.hpp"
#include "parallel/communicator.hpp"

namespace uzushio::compositing {

/// Consecutive ranks of one node in the visibility order, and the rank that receives their
/// composited image. All numbers are ranks of the whole communicator.
struct NodeSegment {
    std::vector<int> members;
    int leader = -1;
};

/// Direct-send through shared memory: the ranks of a node store their images in shared memory, and
/// any of them blends any tile of the picture. Each pixel is read and written once.
///
/// A rank that has stored its image returns at once. The ranks that arrive last, a few for each
/// processor of the node, are the workers that blend. So ranks that share processors are seldom
/// switched.
///
/// The participants of a picture are the members of its segment and its leader. Other ranks may be
/// many pictures ahead. The memory of a slot is written as follows:
///
/// 1. A rank writes its image and header between the end of its own last picture in the slot
///    (`done` at that picture's leader) and its arrival; others read them from the time when all
///    participants have arrived until `done`.
/// 2. A participant arrives for a picture when its own last picture in the slot is done. So its
///    word among the leader's arrivals stays until the picture is done, and a rank never arrives
///    for two pictures of one slot at a time.
/// 3. A leader participates in each picture that it leads, also without an image of its own. So its
///    result is written, and its tile counters count, for one picture at a time. Its arrival ends
///    the time in which it may read the last result.
/// 4. Arrivals of another picture, or with another hash of visibility orders, do not count: images
///    of different orders are never blended.
class NodeCompositor {
  public:
    /// Collective over `comm`. `ranks_per_node`: maximum number of ranks of a node; 0: all that
    /// share memory.
    NodeCompositor(MPI_Comm comm, const ImageShape& shape, int frames, int ranks_per_node);
    ~NodeCompositor();
    /// Let the destructor wait for no rank; shared memory then stays until the process ends.
    void abandon();

    /// Divide a visibility order into segments, the same on all ranks. The root leads the segment
    /// that holds it, and the only segment if that has several ranks on the root's node.
    [[nodiscard]] std::vector<NodeSegment> segments(std::span<const int> order, int root) const;

    /// Return whether this rank's last picture in `slot` is done: its image is no longer read.
    [[nodiscard]] bool is_free(int slot) const;
    /// Blend tiles of it, then sleep until it may be done, for at most `timeout`.
    void wait_until_free(int slot, std::chrono::microseconds timeout);
    /// Return the memory for this rank's image of the next picture in `slot`, which must be free.
    [[nodiscard]] std::span<std::byte> canvas(int slot);

    /// Begin picture `number` in `slot`, which must be free: store this rank's image, unless it is
    /// in the canvas already, and blend if it arrives last. The result has width `to`. `orders`:
    /// hash of the visibility orders, the same on all participants.
    void submit(int slot, std::uint64_t number, std::uint64_t orders,
                std::shared_ptr<const NodeSegment> segment, const ImageView& image,
                ChannelWidth to);
    /// Return the number of this rank's last picture in `slot`.
    [[nodiscard]] std::uint64_t number(int slot) const;
    /// Append to `ranks` the participants of it that have not arrived.
    void add_missing(int slot, std::vector<int>& ranks) const;
    /// Return a participant that had arrived for it with another hash of orders; -1: none.
    [[nodiscard]] int conflict(int slot) const;

    /// Blend tiles of the picture in `slot` if it is ready. Return whether this rank has completed
    /// its part: a leader, when the picture is done; other ranks, when no tile is left.
    bool progress(int slot);
    /// Sleep until the state of `slot` may have changed, for at most `timeout`.
    void wait(int slot, std::chrono::microseconds timeout);

    /// Return the composited image of the slot's segment, at its leader.
    [[nodiscard]] std::span<const std::byte> result(int slot) const;

  private:
    struct NodeSlot;

    void map_memory(int slot);
    void store_image(int slot, const ImageView& image);
    void arrive(int slot);
    void blend_tiles(int slot);
    void blend_tile(const NodeSlot& slot, int index, int tile);
    [[nodiscard]] int tile_pixels() const;
    void list_active_runs(int rank, int slot, Range interval, RunList& runs) const;

    ImageShape shape_; ///< not interlaced
    std::unique_ptr<parallel::Communicator> node_;
    int processors_ = 1;        ///< that the ranks of the node may use together
    std::vector<int> node_of_;  ///< first rank of the node of each rank
    std::vector<int> local_of_; ///< rank on its node of each rank
    NodeMemory memory_;
    std::vector<NodeSlot> slots_;
    // Scratch memory for one tile.
    std::vector<RunList> runs_;
    std::vector<Fragment> fragments_;
    std::vector<LayerCursor> cursors_;
    LayerMerger merger_;
};

} // namespace uzushio::compositing
