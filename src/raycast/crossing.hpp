#pragma once

#include <cstddef>
#include <vector>

#include "raycast/cast_plan.hpp"
#include "raycast/cubic.hpp"

namespace uzushio::raycast {

/// Where rays cross a surface.
struct Crossing {
    std::size_t surface; ///< number in the plan, slices before iso-surfaces
    Floats distance;     ///< infinite for rays that do not
};

/// Finds where rays cross iso-surfaces: in every cell that they pass, whatever the segments.
class CrossingFinder {
  public:
    explicit CrossingFinder(const CastPlan& plan)
        : plan_(plan), below_(plan.isosurfaces.size()), first_crossings_(plan.isosurfaces.size()) {}

    /// Append all crossings with the iso-surfaces of a field between two distances, of each
    /// surface in their order along the ray. Behind a crossing with an opaque surface some may be
    /// left out.
    ///
    /// On which side of a surface a ray is at the two distances follows from these alone. On the
    /// way between them it is handed on from cell to cell, so that what lies on a face between two
    /// cells is found once.
    void find(const VisibleBlock& block, const RayPacket& packet, const IsosurfaceField& surfaces,
              Mask rays, Floats begin, Floats end, std::vector<Crossing>& crossings);

  private:
    const CastPlan& plan_;
    /// First crossings with an opaque surface, whose places are found together.
    struct FirstCrossing {
        Mask rays;
        Cubic cubic;
        Floats begin, end; ///< of the cell
    };
    std::vector<Mask> below_;                    ///< by surface: rays that are below its value
    std::vector<FirstCrossing> first_crossings_; ///< by surface
};

} // namespace uzushio::raycast
