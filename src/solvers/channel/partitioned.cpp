#include "solvers/channel/partitioned.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "solvers/channel/chunks.hpp"
#include "solvers/channel/thomas.hpp"

namespace uzushio::channel {

using parallel::block;
using parallel::Exchange;
using parallel::Range;
namespace section = parallel::section;

namespace {

constexpr int chunk_size = 256; ///< modes whose columns fit the cache

/// Operations for one mode of one inner row: of the factors, and of one real right-hand side.
constexpr double factor_flops = pivot_flops + 5, side_flops = eliminate_flops + 6;

/// Return the values of an interface row for one mode: two factors of each system, and re and im of
/// each unknown.
int values_of(const SolveStage& stage) {
    std::size_t values = 0;
    for (const System& system : stage.systems)
        values += 2 + 2 * system.unknowns.size();
    return static_cast<int>(values);
}

/// Return the real right-hand sides of a stage for one mode.
int sides_of(const SolveStage& stage) {
    std::size_t sides = 0;
    for (const System& system : stage.systems)
        sides += 2 * system.unknowns.size();
    return static_cast<int>(sides);
}

/// Return the largest number of values of an interface row: a system, which has one more value than
/// `max_values` counts, has at least one unknown.
int row_values(int max_values) { return max_values + max_values / 3; }

/// Replace the coupling of a row with the one below by that with the rank's first row.
void eliminate_first(double lower, const double* __restrict first_below,
                     const double* __restrict pivot, double* __restrict first, int count) {
#pragma omp simd
    for (int m = 0; m < count; ++m)
        first[m] = -lower * first_below[m] * pivot[m];
}

/// Multiply a row by a factor of each mode.
void scale(const double* __restrict factor, double* __restrict x, int count) {
#pragma omp simd
    for (int m = 0; m < count; ++m)
        x[m] *= factor[m];
}

/// Replace the coupling `next` with row k+1 by that with the last row: `last` is that of row k+1.
void substitute_next(const double* __restrict last, double* __restrict next, int count) {
#pragma omp simd
    for (int m = 0; m < count; ++m)
        next[m] *= -last[m];
}

/// Return the inner rows' solution from those of the first and the last row.
void substitute_ends(const double* __restrict first, const double* __restrict last,
                     const double* __restrict x_first, const double* __restrict x_last,
                     double* __restrict x, int count) {
#pragma omp simd
    for (int m = 0; m < count; ++m)
        x[m] -= first[m] * x_first[m] + last[m] * x_last[m];
}

} // namespace

std::size_t Partitioned::bytes_of(int rows, int total_rows, int modes, int mine, int max_values) {
    const auto own = static_cast<std::size_t>(rows + 1) * static_cast<std::size_t>(modes);
    const auto small =
        static_cast<std::size_t>(2 * total_rows + 1) * static_cast<std::size_t>(mine);
    return (own + small) * static_cast<std::size_t>(row_values(max_values)) * sizeof(double);
}

std::int64_t Partitioned::max_count(int rows, int total_rows, std::int64_t modes, std::int64_t mine,
                                    int max_values) {
    return std::max((rows + 1) * modes, (total_rows + 1) * mine) * row_values(max_values);
}

Partitioned::Partitioned(const TridiagonalSetup& setup)
    : grid_(setup.grid), threads_(setup.threads), modes_(setup.modes),
      max_values_(row_values(setup.max_values)),
      planes_(block(setup.planes, grid_.pz(), grid_.column().rank())),
      mine_(block(modes_, grid_.pz(), grid_.column().rank())),
      halo_(grid_, static_cast<std::size_t>(2 * modes_), 1, setup.sections, setup.traffic),
      sections_(setup.sections), traffic_(setup.traffic), records_(threads_, sections_, traffic_) {
    for (int r = 0; r < grid_.pz(); ++r) {
        first_row_.push_back(total_rows_);
        rows_of_.push_back(interface_rows(block(setup.planes, grid_.pz(), r).size()));
        total_rows_ += rows_of_.back();
    }
    rows_ = rows_of_[static_cast<std::size_t>(grid_.column().rank())];
    const auto allocate = [&](int rows, int modes) {
        return parallel::AlignedArray<double>(static_cast<std::size_t>(rows) *
                                              static_cast<std::size_t>(modes) *
                                              static_cast<std::size_t>(max_values_));
    };
    own_ = allocate(rows_ + 1, modes_);
    small_ = allocate(total_rows_, mine_.size());
    solved_ = allocate(total_rows_ + 1, mine_.size());
}

void Partitioned::solve(std::span<const SolveStage> stages) {
    for (const SolveStage& stage : stages) {
        for (const auto& field : stage.carried)
            halo_.exchange({&field, 1}, {});
        const double systems = static_cast<double>(stage.systems.size());
        for_chunks(threads_, modes_, chunk_size, [&](int thread, Range chunk) {
            auto& sections = records_.sections(thread);
            if (stage.before)
                stage.before(chunk);
            sections.lap(section::pointwise, {.flops = stage.before_flops * chunk.size()});
            for (const System& system : stage.systems)
                eliminate_inner(system, chunk);
            sections.lap(section::tridiagonal,
                         {.flops = (factor_flops * systems + side_flops * sides_of(stage)) *
                                   planes_.size() * chunk.size()});
        });
        records_.collect();
        send_interfaces(stage);
        solve_interfaces(stage);
        return_interfaces(stage);
        for_chunks(threads_, modes_, chunk_size, [&](int thread, Range chunk) {
            auto& sections = records_.sections(thread);
            for (const System& system : stage.systems)
                substitute_inner(system, chunk);
            sections.lap(section::tridiagonal);
            if (stage.after)
                stage.after(chunk);
            sections.lap(section::pointwise, {.flops = stage.after_flops * chunk.size()});
        });
        records_.collect();
    }
}

/// After this, row k reads first[k] x[0] + x[k] + last[k] x[n-1] = rhs[k], and the first and the
/// last row have these couplings with the rows beyond them.
void Partitioned::eliminate_inner(const System& system, Range chunk) const {
    const Rows& rows = *system.rows;
    const int count = chunk.size(), planes = planes_.size();
    const auto first = [&](int k) { return system.factors.im(k) + chunk.begin; };
    const auto last = [&](int k) { return system.factors.re(k) + chunk.begin; };
    const auto for_sides = [&](auto&& visit) {
        for (const auto& x : system.unknowns) {
            visit([&](int k) { return x.re(k) + chunk.begin; });
            visit([&](int k) { return x.im(k) + chunk.begin; });
        }
    };
    std::array<double, chunk_size> pivot, none{};
    for (int k = 0; k < planes; ++k) {
        const double lower = rows.lower[static_cast<std::size_t>(planes_.begin + k)];
        const bool is_coupled = k >= 2; // with the row below, which is not the first one
        eliminate_pivot(rows, planes_.begin + k, system.shift + chunk.begin,
                        is_coupled ? last(k - 1) : none.data(), last(k), pivot.data(), count);
        if (is_coupled)
            eliminate_first(lower, first(k - 1), pivot.data(), first(k), count);
        else
            std::transform(pivot.data(), pivot.data() + count, first(k),
                           [lower](double value) { return lower * value; });
        for_sides([&](auto&& x) {
            if (is_coupled)
                eliminate(lower, x(k - 1), pivot.data(), x(k), count);
            else
                scale(pivot.data(), x(k), count);
        });
    }
    for (int k = planes - 3; k >= 1; --k) {
        for_sides([&](auto&& x) { substitute(last(k), x(k + 1), x(k), count); });
        substitute(last(k), first(k + 1), first(k), count);
        substitute_next(last(k + 1), last(k), count);
    }
    if (planes < 3)
        return;
    for_sides([&](auto&& x) { substitute(last(0), x(1), x(0), count); });
    std::transform(last(0), last(0) + count, first(1), pivot.data(),
                   [](double next, double back) { return 1 / (1 - next * back); });
    substitute_next(last(1), last(0), count);
    for_sides([&](auto&& x) { scale(pivot.data(), x(0), count); });
    scale(pivot.data(), first(0), count);
    scale(pivot.data(), last(0), count);
}

void Partitioned::substitute_inner(const System& system, Range chunk) const {
    const int m = chunk.begin, end = planes_.size() - 1;
    for (int k = 1; k < end; ++k) {
        const double *first = system.factors.im(k) + m, *last = system.factors.re(k) + m;
        for (const auto& x : system.unknowns) {
            substitute_ends(first, last, x.re(0) + m, x.re(end) + m, x.re(k) + m, chunk.size());
            substitute_ends(first, last, x.im(0) + m, x.im(end) + m, x.im(k) + m, chunk.size());
        }
    }
}

void Partitioned::send_interfaces(const SolveStage& stage) {
    const int values = values_of(stage);
    std::vector<int> sends, send_offsets, receives, receive_offsets;
    double* to = own_.data();
    for (int r = 0; r < grid_.pz(); ++r) {
        const Range modes = block(modes_, grid_.pz(), r);
        const auto rank = static_cast<std::size_t>(r);
        sends.push_back(rows_ * values * modes.size());
        send_offsets.push_back(static_cast<int>(to - own_.data()));
        receives.push_back(rows_of_[rank] * values * mine_.size());
        receive_offsets.push_back(first_row_[rank] * values * mine_.size());
        for (int row = 0; row < rows_; ++row) {
            const int k = plane(row);
            const auto append = [&](const double* from) {
                to = std::copy(from + modes.begin, from + modes.end, to);
            };
            for (const System& system : stage.systems) {
                append(system.factors.im(k));
                append(system.factors.re(k));
                for (const auto& x : system.unknowns) {
                    append(x.re(k));
                    append(x.im(k));
                }
            }
        }
    }
    MPI_Alltoallv(own_.data(), sends.data(), send_offsets.data(), MPI_DOUBLE, small_.data(),
                  receives.data(), receive_offsets.data(), MPI_DOUBLE, grid_.column().get());
    traffic_.add(Exchange::interfaces, grid_.pz() - 1,
                 8LL * rows_ * values * (modes_ - mine_.size()));
    sections_.lap(section::transpose);
}

void Partitioned::solve_interfaces(const SolveStage& stage) {
    const int modes = mine_.size(), values = values_of(stage), sides = sides_of(stage);
    if (modes == 0)
        return;
    std::vector<double> pivot(static_cast<std::size_t>(modes));
    const auto row = [&](int k, int value) {
        return small_.data() + (std::ptrdiff_t{k} * values + value) * modes;
    };
    const auto solution = [&](int k, int side) {
        return solved_.data() + (std::ptrdiff_t{k} * sides + side) * modes;
    };
    int value = 0, side = 0;
    for (const System& system : stage.systems) {
        const int first = value, last = value + 1,
                  count = 2 * static_cast<int>(system.unknowns.size());
        for (int k = 0; k < total_rows_; ++k) {
            const double* below = row(k, first);
            if (k > 0) {
                const double* above = row(k - 1, last);
                for (int m = 0; m < modes; ++m)
                    pivot[static_cast<std::size_t>(m)] = 1 / (1 - below[m] * above[m]);
                scale(pivot.data(), row(k, last), modes);
            }
            for (int n = 0; n < count; ++n) {
                double* x = row(k, value + 2 + n);
                if (k == 0)
                    continue;
                substitute(below, row(k - 1, value + 2 + n), x, modes);
                scale(pivot.data(), x, modes);
            }
        }
        for (int n = 0; n < count; ++n) {
            std::fill_n(solution(total_rows_, side + n), modes, 0.0);
            for (int k = total_rows_ - 1; k >= 0; --k) {
                std::copy_n(row(k, value + 2 + n), modes, solution(k, side + n));
                if (k + 1 < total_rows_)
                    substitute(row(k, last), solution(k + 1, side + n), solution(k, side + n),
                               modes);
            }
        }
        value += 2 + count;
        side += count;
    }
    sections_.lap(section::tridiagonal,
                  {.flops = (2.0 * values + 4.0 * sides) * total_rows_ * modes});
}

void Partitioned::return_interfaces(const SolveStage& stage) {
    const int sides = sides_of(stage);
    std::vector<int> sends, send_offsets, receives, receive_offsets;
    int offset = 0;
    for (int r = 0; r < grid_.pz(); ++r) {
        const auto rank = static_cast<std::size_t>(r);
        sends.push_back((rows_of_[rank] + 1) * sides * mine_.size());
        send_offsets.push_back(first_row_[rank] * sides * mine_.size());
        receives.push_back((rows_ + 1) * sides * block(modes_, grid_.pz(), r).size());
        receive_offsets.push_back(offset);
        offset += receives.back();
    }
    MPI_Alltoallv(solved_.data(), sends.data(), send_offsets.data(), MPI_DOUBLE, own_.data(),
                  receives.data(), receive_offsets.data(), MPI_DOUBLE, grid_.column().get());
    traffic_.add(Exchange::interfaces, grid_.pz() - 1,
                 8LL * sides * mine_.size() * (total_rows_ + grid_.pz() - rows_ - 1));
    const double* from = own_.data();
    for (int r = 0; r < grid_.pz(); ++r) {
        const Range modes = block(modes_, grid_.pz(), r);
        for (int row = 0; row <= rows_; ++row) {
            const int k = row == rows_ ? planes_.size() : plane(row); // the ghost plane above
            for (const System& system : stage.systems)
                for (const auto& x : system.unknowns)
                    for (double* part : {x.re(k), x.im(k)}) {
                        std::copy_n(from, modes.size(), part + modes.begin);
                        from += modes.size();
                    }
        }
    }
    sections_.lap(section::transpose);
}

} // namespace uzushio::channel
