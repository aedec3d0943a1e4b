#include "phasefield/replayed.hpp"

#include <array>

#include "phasefield/pieces.hpp"

namespace uzushio::phasefield {

namespace {

void copy(const Frame& frame, const Layer<const double>& layer, int y, int begin, int end,
          double* to) {
    std::array<Frame::Piece, 3> pieces;
    const int count = frame.cut(y, begin, end, pieces);
    for (int i = 0; i < count; ++i) {
        const auto& piece = pieces[static_cast<std::size_t>(i)];
        const Input from{frame.row(layer, y, piece.strip),
                         rows_ahead * frame.pitch(layer, piece.strip)};
        copy_row(piece.begin, piece.end, from, to);
    }
}

} // namespace

void Replayed::state(int y, int begin, int end, double* to) {
    copy(wide_, phi_, y, begin, end, to);
}

void Replayed::adjoint(int y, int begin, int end, double* to) {
    copy(frame_, lambda_, y, begin, end, to);
}

void Replayed::forward(int, const stencil::Row& row) {
    forward_row(coefficients_, stencil_of(row), row.x_begin, row.x_end, nullptr, {},
                sums_[row.thread].misfit);
}

void Replayed::backward(int step, const stencil::Row& row, const double* state) {
    in_pieces(frame_, row, [&](int begin, int end, int strip, bool counts) {
        const SeenRow seen = observed_ ? observed_->row(step, row.y, strip) : SeenRow{};
        adjoint_row(coefficients_, stencil_of(row), begin, end, {state, 0}, nullptr, seen,
                    counts ? summed_ : Summed::nothing, sums_[row.thread]);
    });
}

} // namespace uzushio::phasefield
