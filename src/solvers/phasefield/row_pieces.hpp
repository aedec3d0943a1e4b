#pragma once

#include <array>

#include "solvers/phasefield/rows.hpp"
#include "solvers/phasefield/tile_halo.hpp"
#include "stencil/row.hpp"

namespace uzushio::phasefield {

/// Load a pointer by itself. A vector load of several pointers that were just stored one by one
/// would wait for all these stores (no store forwarding).
template <class T> T* load_alone(T* pointer) {
    asm("" : "+r"(pointer));
    return pointer;
}

/// Return the input rows and the output row.
inline FivePointRows five_point_rows(const stencil::StencilRow& row) {
    return {load_alone(row.below), load_alone(row.here), load_alone(row.above),
            load_alone(row.out)};
}

/// Call `work(begin, end, strip, own)` for the pieces of a row that are contiguous in memory, each
/// either own or redundant.
template <class Work>
void for_each_piece(const TileHalo& halo, const stencil::StencilRow& row, Work&& work) {
    const auto visit = [&](int begin, int end, bool own) {
        std::array<TileHalo::RowPiece, 3> pieces;
        const int count = halo.cut(row.y, begin, end, pieces);
        for (int i = 0; i < count; ++i) {
            const auto& piece = pieces[static_cast<std::size_t>(i)];
            work(piece.begin, piece.end, piece.strip, own);
        }
    };
    if (row.own_begin >= row.own_end) {
        visit(row.x_begin, row.x_end, false);
        return;
    }
    visit(row.x_begin, row.own_begin, false);
    visit(row.own_begin, row.own_end, true);
    visit(row.own_end, row.x_end, false);
}

} // namespace uzushio::phasefield
