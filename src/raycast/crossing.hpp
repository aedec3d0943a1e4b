#pragma once

#include <cstddef>
#include <vector>

#include "raycast/cast_plan.hpp"
#include "raycast/cubic.hpp"

namespace uzushio::raycast {

/// Crossing of rays with a surface.
struct Crossing {
    std::size_t surface; ///< index in the plan, slices before iso-surfaces
    Floats distance;     ///< infinite for rays that miss it
};

/// Search for the crossings of rays with iso-surfaces, in every cell on their way, independent of
/// segments.
class CrossingFinder {
  public:
    explicit CrossingFinder(const CastPlan& plan)
        : plan_(plan), below_(plan.isosurfaces.size()), first_crossings_(plan.isosurfaces.size()) {}

    /// Append all crossings with the iso-surfaces of a field between two distances, in order along
    /// the ray for each surface. Crossings behind an opaque surface may be left out.
    ///
    /// The sides of a surface at the two ends depend on the two distances only. In between the side
    /// is carried from cell to cell, so that a crossing on a face between two cells is found once.
    void find(const VisibleBlock& block, const RayPacket& packet, const IsosurfaceField& surfaces,
              Mask rays, Floats begin, Floats end, std::vector<Crossing>& crossings);

  private:
    const CastPlan& plan_;
    /// First crossings with an opaque surface, whose roots are found together.
    struct FirstCrossing {
        Mask rays;
        Cubic cubic;
        Floats begin, end; ///< of the cell
    };
    std::vector<Mask> below_;                    ///< by surface: rays that are below its value
    std::vector<FirstCrossing> first_crossings_; ///< by surface
};

} // namespace uzushio::raycast
