#pragma once

#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// A stretch of each ray, and the values of all channels at its ends.
struct RaySegment {
    Floats begin, end;
    const Floats* first; ///< one for each channel; someone else's, as `second`
    const Floats* second;
};

} // namespace uzushio::raycast
