#include "solvers/phasefield/replayed_adjoint.hpp"

#include <array>

#include "solvers/phasefield/row_pieces.hpp"

namespace uzushio::phasefield {

namespace {

void copy(const TileHalo& halo, const HaloField<const double>& field, int y, int begin, int end,
          double* to) {
    std::array<TileHalo::RowPiece, 3> pieces;
    const int count = halo.cut(y, begin, end, pieces);
    for (int i = 0; i < count; ++i) {
        const auto& piece = pieces[static_cast<std::size_t>(i)];
        const PrefetchedRow from{halo.row(field, y, piece.strip),
                                 prefetch_rows * halo.pitch(field, piece.strip)};
        copy_row(piece.begin, piece.end, from, to);
    }
}

} // namespace

void ReplayedAdjoint::state(int y, int begin, int end, double* to) {
    copy(state_halo_, phi_, y, begin, end, to);
}

void ReplayedAdjoint::adjoint(int y, int begin, int end, double* to) {
    copy(halo_, lambda_, y, begin, end, to);
}

void ReplayedAdjoint::forward(int, const stencil::StencilRow& row) {
    forward_row(coefficients_, five_point_rows(row), row.x_begin, row.x_end, nullptr, {},
                sums_[row.thread].misfit);
}

void ReplayedAdjoint::backward(int step, const stencil::StencilRow& row, const double* state) {
    for_each_piece(halo_, row, [&](int begin, int end, int strip, bool own) {
        const ObservedRow observed = observed_ ? observed_->row(step, row.y, strip) : ObservedRow{};
        adjoint_row(coefficients_, five_point_rows(row), begin, end, {state, 0}, nullptr, observed,
                    own ? terms_ : AdjointTerms::none, sums_[row.thread]);
    });
}

} // namespace uzushio::phasefield
