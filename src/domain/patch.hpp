#pragma once

#include <string>

#include "domain/face.hpp"

namespace uzushio::domain {

/// Part of a face: ranges of cells along its two axes, in ascending order of these.
struct Patch {
    Face face;
    Box<2> range;

    /// Return the patch that covers a face of a zone with these cells.
    static constexpr Patch whole(Face face, const Index<3>& cells) {
        const auto [a, b] = face.along();
        return {face, Box<2>::of({cells[a], cells[b]})};
    }
    /// Return the cells of `cells` that have a side in the patch: one layer.
    [[nodiscard]] constexpr Box<3> layer(const Box<3>& cells) const {
        Box<3> box = cells;
        const auto along = face.along();
        for (std::size_t t = 0; t < 2; ++t) {
            box.lower[along[t]] = std::max(box.lower[along[t]], range.lower[t]);
            box.upper[along[t]] = std::min(box.upper[along[t]], range.upper[t]);
        }
        if (face.is_upper())
            box.lower[face.axis] = box.upper[face.axis] - 1;
        else
            box.upper[face.axis] = box.lower[face.axis] + 1;
        return box;
    }
    /// Return a text such as "face i-max, range j 0:4, k 2:6".
    [[nodiscard]] std::string text() const {
        std::string text = "face ";
        text.append(face.name()).append(", range ");
        const auto along = face.along();
        for (std::size_t t = 0; t < 2; ++t) {
            text.append(t > 0 ? ", " : "").append(1, "ijk"[along[t]]).append(" ");
            text.append(std::to_string(range.lower[t])).append(":");
            text.append(std::to_string(range.upper[t]));
        }
        return text;
    }
    bool operator==(const Patch&) const = default;
};

} // namespace uzushio::domain
