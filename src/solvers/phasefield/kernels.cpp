#include "solvers/phasefield/kernels.hpp"

#include "solvers/phasefield/row_pieces.hpp"

namespace uzushio::phasefield {

namespace {

using stencil::StencilRow;

PrefetchedRow input(const TileHalo& halo, const Trajectory& trajectory, int step, int y,
                    int strip) {
    const auto field = trajectory.field(step);
    return {halo.row(field, y, strip), prefetch_rows * halo.pitch(field, strip)};
}

} // namespace

parallel::CompensatedSum folded(const LaneSum& sum) {
    parallel::CompensatedSum total;
    for (int lane = 0; lane < lanes; ++lane) {
        total.add(sum.high[lane]);
        total.add(sum.low[lane]);
    }
    return total;
}

void ForwardKernel::row(int step, const StencilRow& row) {
    for_each_piece(halo, row, [&](int begin, int end, int strip, bool own) {
        double* keep = own && trajectory && trajectory->stores(step)
                           ? halo.row(trajectory->field(step), row.y, strip)
                           : nullptr;
        const ObservedRow observed =
            own && observations ? observations->row(step + 1, row.y, strip) : ObservedRow{};
        forward_row(coefficients, five_point_rows(row), begin, end, keep, observed,
                    sums[row.thread]);
    });
}

void AdvanceKernel::rows(int step, const stencil::RowGroup& rows) {
    if (forward.trajectory && forward.trajectory->stores(step))
        return rows.each([&](const StencilRow& row) { forward.row(step, row); });
    const StencilRow& first = rows.first;
    forward_rows(forward.coefficients, five_point_rows(first), first.x_begin, first.x_end,
                 rows.count, rows.stride);
}

void AdjointKernel::row(int step, const StencilRow& row) {
    const int next = step - 1;
    for_each_piece(halo, row, [&](int begin, int end, int strip, bool own) {
        const PrefetchedRow phi = input(halo, trajectory, next, row.y, strip);
        double* keep = own && kept ? halo.row(kept->field(next), row.y, strip) : nullptr;
        const ObservedRow observed =
            observations ? observations->row(next, row.y, strip) : ObservedRow{};
        adjoint_row(coefficients, five_point_rows(row), begin, end, phi, keep, observed,
                    own ? terms : AdjointTerms::none, sums[row.thread]);
    });
}

void TangentKernel::row(int step, const StencilRow& row) {
    for_each_piece(halo, row, [&](int begin, int end, int strip, bool own) {
        const PrefetchedRow phi = input(halo, trajectory, step, row.y, strip);
        double* keep = own && kept ? halo.row(kept->field(step), row.y, strip) : nullptr;
        tangent_row(coefficients, five_point_rows(row), begin, end, phi, keep);
    });
}

void SecondOrderKernel::row(int step, const StencilRow& row) {
    const int next = step - 1;
    for_each_piece(halo, row, [&](int begin, int end, int strip, bool own) {
        const PrefetchedRow phi = input(halo, trajectory, next, row.y, strip);
        const PrefetchedRow dphi = input(halo, tangent, next, row.y, strip);
        const PrefetchedRow lambda =
            adjoint ? input(halo, *adjoint, next, row.y, strip) : PrefetchedRow{};
        const ObservedRow observed =
            observations ? observations->row(next, row.y, strip) : ObservedRow{};
        second_order_row(coefficients, five_point_rows(row), begin, end, phi, dphi, lambda,
                         observed, own ? &sums[row.thread] : nullptr);
    });
}

} // namespace uzushio::phasefield
