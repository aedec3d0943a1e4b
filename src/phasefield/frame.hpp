#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "stencil/plan.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::phasefield {

/// Values on a rank's own tile, wherever they lie, and on the frame around it.
template <class T> struct Layer {
    T* own = nullptr;         ///< of the tile's first point
    std::ptrdiff_t pitch = 0; ///< from one row of the tile to the next
    T* frame = nullptr;       ///< as `Frame` lays it out; may be null where the frame is empty

    operator Layer<const T>() const { return {own, pitch, frame}; }
};

/// Points around a rank's tile that it computes redundantly, or for its neighbours: their values
/// are kept apart from the tile's, so that the tile's own can stay where the caller has them.
///
/// Two strips of rows below and above, over the corners too, and two of columns left and right.
/// There is none beyond an edge of the domain that is not periodic.
class Frame {
  public:
    /// `width` points on each side; at most the shortest side of any tile. `tiling` must outlive
    /// the frame.
    Frame(const stencil::Tiling& tiling, int width);

    /// Of one layer, in values.
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] int width() const { return width_; }
    [[nodiscard]] const stencil::Rect& own() const { return own_; }

    /// Columns that lie together in memory.
    struct Piece {
        int begin = 0;
        int end = 0;
        int strip = inside;
    };
    static constexpr int inside = 4;

    /// Cut [begin, end) of row y where the memory changes; returns the number of pieces.
    int cut(int y, int begin, int end, std::array<Piece, 3>& pieces) const;

    /// [x] of what is returned is the value of column x in row y, for the columns of the piece.
    template <class T> [[nodiscard]] T* row(const Layer<T>& layer, int y, int strip) const {
        if (strip == inside)
            return layer.own + ((y - own_.y.begin) * layer.pitch - own_.x.begin);
        const auto& at = strips_[static_cast<std::size_t>(strip)];
        return layer.frame +
               (static_cast<std::ptrdiff_t>(at.offset) +
                std::ptrdiff_t{y - at.area.y.begin} * at.area.x.size() - at.area.x.begin);
    }

    /// From one row to the next in the memory of `row`.
    template <class T> [[nodiscard]] std::ptrdiff_t pitch(const Layer<T>& layer, int strip) const {
        return strip == inside ? layer.pitch
                               : strips_[static_cast<std::size_t>(strip)].area.x.size();
    }

    /// Fill the frames of layers from the tiles of the neighbours; two messages a direction,
    /// however many layers (collective). Returns what this rank sent to others.
    stencil::Sent exchange(std::span<const Layer<double>> layers) const;

  private:
    struct Strip {
        stencil::Rect area;
        std::size_t offset = 0;
    };
    enum Side { south, north, west, east };

    void shift(std::span<const Layer<double>> layers, Side to, stencil::Sent& sent) const;

    const stencil::Tiling* tiling_;
    int width_;
    stencil::Rect own_;
    std::array<Strip, 4> strips_;
    std::size_t size_ = 0;
};

} // namespace uzushio::phasefield
