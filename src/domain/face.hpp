#pragma once

#include <array>
#include <string>
#include <vector>

#include "domain/box.hpp"

namespace uzushio::domain {

enum class Side { lower, upper };

/// One of the six faces of a zone or a block.
struct Face {
    std::size_t axis = 0;
    Side side = Side::lower;

    [[nodiscard]] constexpr bool is_upper() const { return side == Side::upper; }
    /// Return the two axes along the face, ascending.
    [[nodiscard]] constexpr std::array<std::size_t, 2> along() const {
        return {axis == 0 ? std::size_t{1} : 0, axis == 2 ? std::size_t{1} : 2};
    }
    /// Return "i-min" … "k-max".
    [[nodiscard]] std::string name() const {
        return std::string(1, "ijk"[axis]) + (is_upper() ? "-max" : "-min");
    }
    bool operator==(const Face&) const = default;
};

/// Return the faces of all axes of a mesh with `dimension` dimensions.
[[nodiscard]] inline std::vector<Face> faces(int dimension) {
    std::vector<Face> result;
    for (std::size_t a = 0; a < static_cast<std::size_t>(dimension); ++a)
        for (const Side side : {Side::lower, Side::upper})
            result.push_back({a, side});
    return result;
}

} // namespace uzushio::domain
