#include "linalg/partitioned_columns.hpp"

#include <algorithm>
#include <utility>

#include "parallel/section_names.hpp"

namespace uzushio::linalg {

using domain::Box;
using domain::View;
using parallel::block;
using parallel::Exchange;
using parallel::Range;

namespace {

enum Factor { lower, upper, pivot, beside, factor_count };

/// Values of an interface row: the columns of the planes below and above in it.
constexpr int spike_values = 2;

parallel::AlignedArray<double> array_of(std::int64_t size) {
    return parallel::AlignedArray<double>(static_cast<std::size_t>(size));
}

} // namespace

PartitionedColumns::PartitionedColumns(parallel::Communicator line, const Box<3>& modes,
                                       const Axis& axis, std::span<const double> along_i,
                                       std::span<const double> along_j, double s, double scale,
                                       bool singular, parallel::Traffic& traffic,
                                       parallel::SectionMonitor& sections)
    : line_(std::move(line)), modes_(modes),
      own_(modes, axis, along_i, along_j, s, scale, false, ModeColumns::Outside::zero_solution),
      planes_of_(static_cast<std::size_t>(line_.size())),
      mine_(block(columns(), line_.size(), line_.rank())), traffic_(traffic), sections_(sections) {
    const auto planes = static_cast<int>(modes_.extent(2));
    MPI_Allgather(&planes, 1, MPI_INT, planes_of_.data(), 1, MPI_INT, line_.get());
    for (int rank = 0; rank < line_.size(); ++rank) {
        first_row_.push_back(total_rows_);
        total_rows_ += rows_of(rank);
    }
    const bool first = line_.rank() == 0;
    const bool last = line_.rank() + 1 == line_.size();
    const auto face = [&](std::int64_t k) { return axis.reciprocal_distance(static_cast<int>(k)); };
    couplings_ = {
        first ? 0 : face(modes_.lower[2]) / (scale * axis.widths[std::size_t(modes_.lower[2])]),
        last ? 0 : face(modes_.upper[2]) / (scale * axis.widths[std::size_t(modes_.upper[2] - 1)])};
    below_spike_ = array_of(modes_.volume());
    above_spike_ = array_of(modes_.volume());
    rows_ = array_of(std::int64_t{2} * spike_values * columns());
    small_ = array_of(std::int64_t{total_rows_} * spike_values * mine_.size());
    factors_ = array_of(std::int64_t{total_rows_} * factor_count * mine_.size());
    beside_ = array_of(std::int64_t{2} * columns());
    if (singular && !modes_.empty() && modes_.lower[0] == 0 && modes_.lower[1] == 0) {
        const Box<3> column{{0, 0, 0}, {1, 1, axis.cells()}};
        singular_.emplace_back(column, axis, along_i, along_j, s, scale, true);
        singular_column_.resize(axis.widths.size());
    }
    compute_spikes();
    factorise();
}

std::size_t PartitionedColumns::bytes() const {
    return own_.bytes() + below_spike_.bytes() + above_spike_.bytes() + rows_.bytes() +
           small_.bytes() + factors_.bytes() + beside_.bytes();
}

void PartitionedColumns::compute_spikes() {
    if (modes_.empty())
        return;
    for (const int side : {0, 1}) {
        auto& spike = side == 0 ? below_spike_ : above_spike_;
        const std::int64_t k = side == 0 ? 0 : modes_.extent(2) - 1;
        std::fill_n(spike.data() + k * columns(), columns(),
                    couplings_[static_cast<std::size_t>(side)]);
        solve_own(View<double>(spike.data(), modes_, 1), modes_.lower[1], modes_.upper[1]);
    }
}

void PartitionedColumns::solve_own(const View<double>& x, std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = modes_.lower[2]; k < modes_.upper[2]; ++k)
        own_.eliminate(x, k, begin, end);
    for (std::int64_t k = modes_.upper[2]; k-- > modes_.lower[2];)
        own_.substitute(x, k, begin, end);
}

void PartitionedColumns::gather_rows(int values) {
    std::vector<int> sends, send_offsets, receives, receive_offsets;
    const int rows = rows_of(line_.rank());
    int offset = 0;
    for (int rank = 0; rank < line_.size(); ++rank) {
        sends.push_back(rows * values * block(columns(), line_.size(), rank).size());
        send_offsets.push_back(offset);
        offset += sends.back();
        receives.push_back(rows_of(rank) * values * mine_.size());
        receive_offsets.push_back(first_row_[static_cast<std::size_t>(rank)] * values *
                                  mine_.size());
    }
    MPI_Alltoallv(rows_.data(), sends.data(), send_offsets.data(), MPI_DOUBLE, small_.data(),
                  receives.data(), receive_offsets.data(), MPI_DOUBLE, line_.get());
}

/// With the columns b and a of the planes below and above, rows f and l of a rank are
///   x_f + b_f x_below + a_f x_above = y_f,   x_l + b_l x_below + a_l x_above = y_l:
/// f minus a_f / a_l times l, and l minus b_l / b_f times f, are rows of a tridiagonal system.
void PartitionedColumns::factorise() {
    const int rows = rows_of(line_.rank());
    double* to = rows_.data();
    for (int rank = 0; rank < line_.size(); ++rank) {
        const Range part = block(columns(), line_.size(), rank);
        for (int row = 0; row < rows && !modes_.empty(); ++row)
            for (const auto* spike : {&below_spike_, &above_spike_}) {
                const double* from =
                    spike->data() + (plane(row) - modes_.lower[2]) * columns() + part.begin;
                to = std::copy_n(from, part.size(), to);
            }
    }
    gather_rows(spike_values);
    const int modes = mine_.size();
    const auto spike = [&](int row, int value, int m) {
        return small_[static_cast<std::size_t>((row * spike_values + value) * modes + m)];
    };
    const auto factor = [&](int row, Factor which, int m) -> double& {
        return factors_[static_cast<std::size_t>((row * factor_count + which) * modes + m)];
    };
    for (int rank = 0; rank < line_.size(); ++rank) {
        const int f = first_row_[static_cast<std::size_t>(rank)];
        const bool pair = rows_of(rank) == 2;
        const int l = pair ? f + 1 : f;
        const bool is_last = rank + 1 == line_.size();
        for (int m = 0; m < modes; ++m) {
            const double b_f = spike(f, 0, m), a_f = spike(f, 1, m);
            const double b_l = spike(l, 0, m), a_l = spike(l, 1, m);
            const double from_l = pair && !is_last ? a_f / a_l : 0;
            const double from_f = pair && rank > 0 ? b_l / b_f : 0;
            factor(f, beside, m) = from_l;
            factor(l, beside, m) = pair ? from_f : 0;
            factor(f, lower, m) = b_f - from_l * b_l;
            factor(f, upper, m) = pair ? -from_l : a_f;
            if (pair) {
                factor(l, lower, m) = -from_f;
                factor(l, upper, m) = a_l - from_f * a_f;
            }
        }
    }
    const bool has_singular = !singular_.empty() && mine_.begin == 0;
    for (int row = 0; row < total_rows_; ++row)
        for (int m = 0; m < modes; ++m) {
            const double back = row > 0 ? factor(row, lower, m) * factor(row - 1, upper, m) : 0;
            // The solution of the mode without a unique one is computed apart.
            factor(row, pivot, m) = has_singular && m == 0 ? 0 : 1 / (1 - back);
            factor(row, upper, m) *= factor(row, pivot, m);
        }
}

void PartitionedColumns::solve_small() {
    const int modes = mine_.size();
    const auto row = [&](int r) { return small_.data() + std::ptrdiff_t{r} * modes; };
    const auto factor = [&](int r, Factor which) {
        return factors_.data() + (std::ptrdiff_t{r} * factor_count + which) * modes;
    };
    for (int rank = 0; rank < line_.size(); ++rank) {
        const int f = first_row_[static_cast<std::size_t>(rank)];
        if (rows_of(rank) == 1)
            continue;
        double *y_f = row(f), *y_l = row(f + 1);
        const double *from_l = factor(f, beside), *from_f = factor(f + 1, beside);
#pragma omp simd
        for (int m = 0; m < modes; ++m) {
            const double first = y_f[m];
            y_f[m] -= from_l[m] * y_l[m];
            y_l[m] -= from_f[m] * first;
        }
    }
    for (int r = 0; r < total_rows_; ++r) {
        const double *below = row(std::max(r - 1, 0)), *reciprocal = factor(r, pivot);
        const double* coupling = factor(r, lower);
        double* y = row(r);
#pragma omp simd
        for (int m = 0; m < modes; ++m)
            y[m] = (y[m] - (r > 0 ? coupling[m] * below[m] : 0.0)) * reciprocal[m];
    }
    for (int r = total_rows_ - 2; r >= 0; --r) {
        const double *above = row(r + 1), *coupling = factor(r, upper);
        double* y = row(r);
#pragma omp simd
        for (int m = 0; m < modes; ++m)
            y[m] -= coupling[m] * above[m];
    }
}

void PartitionedColumns::keep_singular(const View<double>& x) {
    if (singular_.empty())
        return;
    std::vector<double> own;
    for (std::int64_t k = modes_.lower[2]; k < modes_.upper[2]; ++k)
        own.push_back(x(0, 0, k));
    std::vector<int> offsets;
    int offset = 0;
    for (const int planes : planes_of_)
        offsets.push_back(std::exchange(offset, offset + planes));
    MPI_Allgatherv(own.data(), static_cast<int>(own.size()), MPI_DOUBLE, singular_column_.data(),
                   planes_of_.data(), offsets.data(), MPI_DOUBLE, line_.get());
}

void PartitionedColumns::exchange(const View<double>& x) {
    const int rows = rows_of(line_.rank());
    double* to = rows_.data();
    const std::int64_t width = modes_.extent(0);
    const auto for_parts = [&](auto&& part_of) { // contiguous parts of the modes of each rank
        for (int rank = 0; rank < line_.size(); ++rank)
            part_of(block(columns(), line_.size(), rank));
    };
    for_parts([&](Range part) {
        for (int row = 0; row < rows; ++row)
            for (int m = part.begin; m < part.end; ++m)
                *to++ = x(modes_.lower[0] + m % width, modes_.lower[1] + m / width, plane(row));
    });
    gather_rows(1);
    solve_small();
    // Each rank gets the last row of the rank below and the first row of the rank above.
    std::vector<int> sends, send_offsets, receives, receive_offsets;
    auto replies = array_of(std::int64_t{2} * line_.size() * mine_.size());
    double* reply = replies.data();
    int offset = 0;
    for (int rank = 0; rank < line_.size(); ++rank) {
        const int f = first_row_[static_cast<std::size_t>(rank)];
        for (const int row : {f - 1, f + rows_of(rank)}) {
            if (row >= 0 && row < total_rows_)
                std::copy_n(small_.data() + std::ptrdiff_t{row} * mine_.size(), mine_.size(),
                            reply);
            reply += mine_.size(); // zeros beyond the ends of the axis
        }
        sends.push_back(2 * mine_.size());
        send_offsets.push_back(rank * sends.back());
        receives.push_back(2 * block(columns(), line_.size(), rank).size());
        receive_offsets.push_back(std::exchange(offset, offset + receives.back()));
    }
    MPI_Alltoallv(replies.data(), sends.data(), send_offsets.data(), MPI_DOUBLE, rows_.data(),
                  receives.data(), receive_offsets.data(), MPI_DOUBLE, line_.get());
    const double* from = rows_.data();
    for_parts([&](Range part) {
        for (const int side : {0, 1}) {
            std::copy_n(from, part.size(), beside_.data() + side * columns() + part.begin);
            from += part.size();
        }
    });
    const int others = line_.size() - 1;
    traffic_.add(Exchange::interfaces, others, 8LL * rows * (columns() - mine_.size()));
    traffic_.add(Exchange::interfaces, others, 8LL * 2 * others * mine_.size());
    if (!singular_.empty()) {
        traffic_.add(Exchange::interfaces, others, 8LL * others * modes_.extent(2));
        solve_singular(x);
    }
    sections_.lap(parallel::section::transpose);
}

void PartitionedColumns::solve_singular(const View<double>& x) {
    const auto planes = static_cast<std::int64_t>(singular_column_.size());
    const View<double> column(singular_column_.data(), {{0, 0, 0}, {1, 1, planes}}, 1);
    for (std::int64_t k = 0; k < planes; ++k)
        singular_[0].eliminate(column, k, 0, 1);
    for (std::int64_t k = planes; k-- > 0;)
        singular_[0].substitute(column, k, 0, 1);
    for (std::int64_t k = modes_.lower[2]; k < modes_.upper[2]; ++k)
        x(0, 0, k) = column(0, 0, k);
    for (const int side : {0, 1}) // nothing to correct
        beside_[static_cast<std::size_t>(side * columns())] = 0;
}

void PartitionedColumns::correct(const View<double>& x, std::int64_t begin,
                                 std::int64_t end) const {
    const std::int64_t width = modes_.extent(0);
    for (std::int64_t k = modes_.lower[2]; k < modes_.upper[2]; ++k)
        for (std::int64_t j = begin; j < end; ++j) {
            const std::int64_t m = (j - modes_.lower[1]) * width;
            const std::int64_t at = (k - modes_.lower[2]) * columns() + m;
            double* __restrict row = &x(modes_.lower[0], j, k);
            const double *spike_b = below_spike_.data() + at, *spike_a = above_spike_.data() + at;
            const double *below = beside_.data() + m, *above = below + columns();
#pragma omp simd
            for (std::int64_t i = 0; i < width; ++i)
                row[i] -= spike_b[i] * below[i] + spike_a[i] * above[i];
        }
}

} // namespace uzushio::linalg
