#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "stencil/sweep_plan.hpp"
#include "stencil/tiling.hpp"

namespace uzushio::phasefield {

/// Field of a rank: its tile, in the caller's memory, and the halo around it.
template <class T> struct HaloField {
    T* tile = nullptr;        ///< first point of the tile
    std::ptrdiff_t pitch = 0; ///< distance of rows of the tile, in values
    T* halo = nullptr;        ///< in the layout of `TileHalo`; may be null if the halo is empty

    operator HaloField<const T>() const { return {tile, pitch, halo}; }
};

/// Halo of a rank's tile: points that the rank computes redundantly, or for its neighbours. Its
/// values are stored apart from the tile's, which stay in the caller's array.
///
/// The halo consists of two strips of rows below and above, corners included, and two strips of
/// columns left and right. There is none beyond a zero-flux edge.
class TileHalo {
  public:
    /// `width`: points on each side, at most the minimum extent of the tiles. `tiling` must outlive
    /// the halo.
    TileHalo(const stencil::Tiling& tiling, int width);

    /// Values of the halo of one field.
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] int width() const { return width_; }
    [[nodiscard]] const stencil::Rect& own() const { return own_; }

    /// Columns of a row that are contiguous in memory.
    struct RowPiece {
        int begin = 0;
        int end = 0;
        int strip = interior;
    };
    static constexpr int interior = 4;

    /// Split [begin, end) of row y into contiguous pieces; return their number.
    int cut(int y, int begin, int end, std::array<RowPiece, 3>& pieces) const;

    /// Return row y of a piece; [x] is the value of column x, for the columns of the piece.
    template <class T> [[nodiscard]] T* row(const HaloField<T>& field, int y, int strip) const {
        if (strip == interior)
            return field.tile + ((y - own_.y.begin) * field.pitch - own_.x.begin);
        const auto& at = strips_[static_cast<std::size_t>(strip)];
        return field.halo +
               (static_cast<std::ptrdiff_t>(at.offset) +
                std::ptrdiff_t{y - at.area.y.begin} * at.area.x.size() - at.area.x.begin);
    }

    /// Return the distance of rows in the memory of a piece, in values.
    template <class T>
    [[nodiscard]] std::ptrdiff_t pitch(const HaloField<T>& field, int strip) const {
        return strip == interior ? field.pitch
                                 : strips_[static_cast<std::size_t>(strip)].area.x.size();
    }

    /// Fill the halos of fields from the tiles of the neighbours, with two messages per axis for
    /// all fields (collective). Return the messages to other ranks.
    stencil::MessageCount exchange(std::span<const HaloField<double>> fields) const;

  private:
    struct Strip {
        stencil::Rect area;
        std::size_t offset = 0;
    };
    enum Border { south, north, west, east };

    void shift(std::span<const HaloField<double>> fields, Border to,
               stencil::MessageCount& sent) const;

    const stencil::Tiling* tiling_;
    int width_;
    stencil::Rect own_;
    std::array<Strip, 4> strips_;
    std::size_t size_ = 0;
};

} // namespace uzushio::phasefield
