#pragma once

#include "raycast/color_table.hpp"
#include "raycast/sampler.hpp"
#include "raycast/scene.hpp"

namespace uzushio::raycast {

/// Colours in the light of the camera, where a field's gradient is the normal; both sides alike.
Colors light(const Lighting& lighting, Colors colors, const std::array<Floats, 3>& normal,
             const std::array<Floats, 3>& view);

} // namespace uzushio::raycast
