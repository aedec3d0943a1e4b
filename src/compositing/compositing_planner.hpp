#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compositing/compositing_schedule.hpp"
#include "compositing/machine_rates.hpp"
#include "compositing/node_compositor.hpp"

namespace uzushio::compositing {

/// Work of one rank for the pictures of one visibility order.
struct CompositingPlan {
    CompositingSchedule schedule; ///< by messages
    /// Ranks that composite through shared memory first, this rank among them; null: none.
    std::shared_ptr<const NodeSegment> segment;
    bool leads = false;                        ///< this rank receives the segment's result
    bool complete = false;                     ///< that result is the picture, at this rank
    ChannelWidth width = ChannelWidth::narrow; ///< of that result
};

/// Planner of algorithms and their predicted times. All ranks get the same results.
class CompositingPlanner {
  public:
    /// `node`: null where ranks share no memory.
    CompositingPlanner(const ImageShape& shape, int rank, int root, bool gather, int fan_in,
                       const NodeCompositor* node)
        : shape_(shape), rank_(rank), root_(root), gather_(gather), fan_in_(fan_in), node_(node) {}

    [[nodiscard]] CompositingPlan plan(const AlgorithmSpec& spec, std::span<const int> order) const;
    /// Return the predicted seconds of a picture whose pixels are all active.
    [[nodiscard]] double predict(const AlgorithmSpec& spec, std::span<const int> order,
                                 const MachineRates& machine) const;
    /// Return the algorithm with the least predicted time.
    [[nodiscard]] AlgorithmSpec choose(std::span<const int> order,
                                       const MachineRates& machine) const;

  private:
    /// Segments of the nodes, and their leaders, which composite by messages afterwards.
    struct NodePartition {
        std::vector<NodeSegment> segments;
        std::vector<int> leaders;
        ChannelWidth width = ChannelWidth::narrow; ///< of the segments' results
        bool finished = false;                     ///< no messages are needed
    };
    [[nodiscard]] NodePartition partition(std::span<const int> order) const;
    [[nodiscard]] CompositingGroup tree(const AlgorithmSpec& spec, std::span<const int> ranks,
                                        ChannelWidth input) const;

    ImageShape shape_;
    int rank_;
    int root_;
    bool gather_;
    int fan_in_;
    const NodeCompositor* node_;
};

} // namespace uzushio::compositing
