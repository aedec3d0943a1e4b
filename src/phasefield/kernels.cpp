#include "phasefield/kernels.hpp"

#include "phasefield/pieces.hpp"

namespace uzushio::phasefield {

namespace {

using stencil::Row;

Input input(const Frame& frame, const Trajectory& trajectory, int step, int y, int strip) {
    const auto layer = trajectory.layer(step);
    return {frame.row(layer, y, strip), rows_ahead * frame.pitch(layer, strip)};
}

} // namespace

stencil::CompensatedSum folded(const LaneSum& sum) {
    stencil::CompensatedSum total;
    for (int lane = 0; lane < lanes; ++lane) {
        total.add(sum.high[lane]);
        total.add(sum.low[lane]);
    }
    return total;
}

void Forward::row(int step, const Row& row) {
    in_pieces(frame, row, [&](int begin, int end, int strip, bool counts) {
        double* keep = counts && trajectory && trajectory->keeps(step)
                           ? frame.row(trajectory->layer(step), row.y, strip)
                           : nullptr;
        const SeenRow seen = counts && observed ? observed->row(step + 1, row.y, strip) : SeenRow{};
        forward_row(coefficients, stencil_of(row), begin, end, keep, seen, sums[row.thread]);
    });
}

void Advance::rows(int step, const stencil::Rows& rows) {
    if (whole.trajectory && whole.trajectory->keeps(step))
        return rows.each([&](const Row& row) { whole.row(step, row); });
    const Row& first = rows.first;
    forward_rows(whole.coefficients, stencil_of(first), first.x_begin, first.x_end, rows.count,
                 rows.stride);
}

void Adjoint::row(int step, const Row& row) {
    const int made = step - 1;
    in_pieces(frame, row, [&](int begin, int end, int strip, bool counts) {
        const Input phi = input(frame, trajectory, made, row.y, strip);
        double* keep = counts && kept ? frame.row(kept->layer(made), row.y, strip) : nullptr;
        const SeenRow seen = observed ? observed->row(made, row.y, strip) : SeenRow{};
        adjoint_row(coefficients, stencil_of(row), begin, end, phi, keep, seen,
                    counts ? summed : Summed::nothing, sums[row.thread]);
    });
}

void Tangent::row(int step, const Row& row) {
    in_pieces(frame, row, [&](int begin, int end, int strip, bool counts) {
        const Input phi = input(frame, trajectory, step, row.y, strip);
        double* keep = counts && kept ? frame.row(kept->layer(step), row.y, strip) : nullptr;
        tangent_row(coefficients, stencil_of(row), begin, end, phi, keep);
    });
}

void SecondOrder::row(int step, const Row& row) {
    const int made = step - 1;
    in_pieces(frame, row, [&](int begin, int end, int strip, bool counts) {
        const Input phi = input(frame, trajectory, made, row.y, strip);
        const Input dphi = input(frame, tangent, made, row.y, strip);
        const Input lambda = adjoint ? input(frame, *adjoint, made, row.y, strip) : Input{};
        const SeenRow seen = observed ? observed->row(made, row.y, strip) : SeenRow{};
        second_order_row(coefficients, stencil_of(row), begin, end, phi, dphi, lambda, seen,
                         counts ? &sums[row.thread] : nullptr);
    });
}

} // namespace uzushio::phasefield
