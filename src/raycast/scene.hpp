#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "raycast/axis.hpp"
#include "raycast/color_table.hpp"
#include "raycast/point_values.hpp"
#include "raycast/transfer_table.hpp"
#include "raycast/vector3.hpp"

namespace uzushio::raycast {

/// Light from the camera: colour × (ambient + diffuse × cos) + specular × cos^power.
struct Lighting {
    float ambient = 0, diffuse = 1, specular = 0, power = 1;
};

/// Points with (point − origin) · normal ≤ 0.
struct HalfSpace {
    Vector3 origin{}, normal{};
};

/// Field on a plane.
struct Slice {
    std::size_t field = 0; ///< index in the scene's list
    Vector3 origin{}, normal{};
    std::shared_ptr<const ColorTable> colors;
    float opacity = 1;
    bool clipped = false; ///< whether only the part in the scene's half spaces is drawn
};

/// Surfaces on which a field has given values.
struct Isosurface {
    std::size_t field = 0;
    std::vector<double> values;
    Rgba color{};                             ///< without a table
    std::shared_ptr<const ColorTable> colors; ///< by `color_field`, or by the value
    std::optional<std::size_t> color_field;
    float opacity = 1;
    std::optional<Lighting> lighting;
    bool clipped = false;
};

/// Emitting and absorbing medium.
struct Volume {
    std::size_t field = 0;
    std::shared_ptr<const TransferTable> transfer;
    double unit_distance = 1;
    std::optional<Lighting> shading;
    bool clipped = false;
};

using Layer = std::variant<Slice, Isosurface, Volume>;

/// Layers over the whole domain; the same on all ranks.
struct Scene {
    std::vector<std::string> fields;
    std::vector<Layer> layers;
    std::vector<Axis> axes; ///< x, y, z
    double step = 1;        ///< maximum length of a segment of a ray
    /// Maximum length of a segment along an axis, in widths of the narrowest cell that it touches.
    double step_in_cells = 1;
    std::vector<HalfSpace> half_spaces; ///< whose intersection clips layers
    std::optional<Rgba> bounding_box;
    double line_width = 1.5; ///< in pixels

    [[nodiscard]] Vector3 low() const { return {axes[0].low(), axes[1].low(), axes[2].low()}; }
    [[nodiscard]] Vector3 high() const { return {axes[0].high(), axes[1].high(), axes[2].high()}; }
    [[nodiscard]] Index points() const {
        return {axes[0].cells() + 1, axes[1].cells() + 1, axes[2].cells() + 1};
    }
};

} // namespace uzushio::raycast
