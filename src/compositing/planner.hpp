#pragma once

#include <memory>
#include <optional>
#include <span>

#include "compositing/machine.hpp"
#include "compositing/node_stage.hpp"
#include "compositing/schedule.hpp"

namespace uzushio::compositing {

/// Who does what while the visibility order stays as it is, from one rank's point of view.
struct Plan {
    Schedule schedule; ///< by messages
    /// The ranks with which this one shares memory, if they composite first.
    std::shared_ptr<const Segment> segment;
    bool leads = false;          ///< this rank gets what the segment composites
    bool all_here = false;       ///< which is the picture
    Width width = Width::narrow; ///< of it
};

/// Makes plans for algorithms and tells how long they will take. All ranks come to the same
/// results.
class Planner {
  public:
    /// `node` is null where no memory is shared.
    Planner(const Shape& shape, int rank, int root, bool gather, int fan_in, const NodeStage* node)
        : shape_(shape), rank_(rank), root_(root), gather_(gather), fan_in_(fan_in), node_(node) {}

    [[nodiscard]] Plan plan(const Method& method, std::span<const int> order) const;
    /// Seconds for a picture of which every pixel is active.
    [[nodiscard]] double predict(const Method& method, std::span<const int> order,
                                 const Machine& machine) const;
    /// The algorithm that will be fastest.
    [[nodiscard]] Method choose(std::span<const int> order, const Machine& machine) const;

  private:
    struct Hybrid { ///< what the nodes do, and what is left for messages
        std::vector<Segment> segments;
        std::vector<int> leaders;
        Width width = Width::narrow; ///< of what the nodes composite
        bool finished = false;       ///< nothing is left
    };
    [[nodiscard]] Hybrid hybrid(std::span<const int> order) const;
    [[nodiscard]] Group tree(const Method& method, std::span<const int> ranks, Width input) const;

    Shape shape_;
    int rank_;
    int root_;
    bool gather_;
    int fan_in_;
    const NodeStage* node_;
};

} // namespace uzushio::compositing
