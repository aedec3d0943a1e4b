#pragma once

#include <array>

#include "phasefield/frame.hpp"
#include "phasefield/rows.hpp"
#include "stencil/row.hpp"

namespace uzushio::phasefield {

/// A pointer that is loaded alone. What was just written in parts can be loaded at once only when
/// it has reached the cache, after all that was written before.
template <class T> T* alone(T* pointer) {
    asm("" : "+r"(pointer));
    return pointer;
}

/// The rows that a row's kernel reads, and the one that it makes.
inline Stencil stencil_of(const stencil::Row& row) {
    return {alone(row.below), alone(row.here), alone(row.above), alone(row.out)};
}

/// Call `work(begin, end, strip, counts)` for the pieces of a row that lie together in memory and
/// either count or do not.
template <class Work> void in_pieces(const Frame& frame, const stencil::Row& row, Work&& work) {
    const auto part = [&](int begin, int end, bool counts) {
        std::array<Frame::Piece, 3> pieces;
        const int count = frame.cut(row.y, begin, end, pieces);
        for (int i = 0; i < count; ++i) {
            const auto& piece = pieces[static_cast<std::size_t>(i)];
            work(piece.begin, piece.end, piece.strip, counts);
        }
    };
    if (row.own_begin >= row.own_end) {
        part(row.x_begin, row.x_end, false);
        return;
    }
    part(row.x_begin, row.own_begin, false);
    part(row.own_begin, row.own_end, true);
    part(row.own_end, row.x_end, false);
}

} // namespace uzushio::phasefield
