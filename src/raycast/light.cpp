#include "raycast/light.hpp"

namespace uzushio::raycast {

Colors light(const Lighting& lighting, Colors colors, const std::array<Floats, 3>& normal,
             const std::array<Floats, 3>& view) {
    const Floats along = fma(normal[0], view[0], fma(normal[1], view[1], normal[2] * view[2]));
    const Floats square =
        fma(normal[0], normal[0], fma(normal[1], normal[1], normal[2] * normal[2]));
    const Floats cosine = min(abs(along) / max(sqrt(square), floats(1e-30F)), floats(1));
    const Floats matt = fma(cosine, floats(lighting.diffuse), floats(lighting.ambient));
    Floats gloss{};
    if (lighting.specular > 0)
        gloss = lighting.specular * exp2(lighting.power * log2(max(cosine, floats(1e-30F))));
    const auto shade = [&](Floats color) {
        return min(max(fma(color, matt, gloss), floats(0)), floats(1));
    };
    return {shade(colors.red), shade(colors.green), shade(colors.blue), colors.opacity};
}

} // namespace uzushio::raycast
