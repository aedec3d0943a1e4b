#include "linalg/mode_solver.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "domain/process_counts.hpp"
#include "linalg/linear_solver.hpp"
#include "linalg/threads.hpp"
#include "parallel/block.hpp"
#include "parallel/section_names.hpp"
#include "parallel/simulated.hpp"

namespace uzushio::linalg {

namespace {

using domain::Box;
using domain::Index;
using domain::View;
using Order = ModeSolver::Order;
using parallel::section::fft;
using parallel::section::tridiagonal;

std::vector<double> eigenvalues(const AxisTransform& transform, int cells) {
    std::vector<double> values;
    for (int row = 0; row < cells; ++row)
        values.push_back(transform.eigenvalue(row));
    return values;
}

View<double> view_of(BoxArray& array, const Box<3>& box) {
    return box.empty() ? View<double>{} : array.view();
}

template <class T> Columns<T> rows_of(const View<T>& v, const Index<3>& at, int count) {
    return {&v(at), 1, v.strides()[1], count};
}
Columns<double> columns_of(const View<double>& v, const Index<3>& at, int count) {
    return {&v(at), v.strides()[1], 1, count};
}

} // namespace

Order ModeSolver::order_of(const std::array<Axis, 3>& axes) {
    const std::size_t last = tridiagonal_axis(axes);
    return {last == 0 ? 1UL : 0UL, last == 2 ? 1UL : 2UL, last};
}

ModeSolver::ModeSolver(MPI_Comm comm, const Equation& equation, const Box<3>* region,
                       parallel::Traffic& traffic, parallel::SectionMonitor& sections,
                       ColumnScheme scheme)
    : comm_(parallel::Communicator::duplicate(comm)), axes_(axes_of(equation)),
      order_(order_of(axes_)), whole_(region == nullptr), singular_(is_singular(equation)),
      region_(region_in(region, axes_, order_)),
      first_layout_(
          planes_of(region_, axes_, order_),
          [&] {
              const auto [across, along] = cuts(planes_of(region_, axes_, order_), comm_.size());
              return std::array{1, across, along};
          }(),
          comm_.size()),
      sections_(sections) {
    // A thread's part is worth the start of threads in each stage.
    constexpr std::int64_t min_cells = 20000;
    const auto threads = std::clamp<std::int64_t>(
        planes_of(region_, axes_, order_).volume() / comm_.size() / min_cells, 1, thread_count());
    for (std::int64_t thread = 0; thread < threads; ++thread) {
        first_.emplace_back(axes_[order_[0]]);
        second_.emplace_back(axes_[order_[1]]);
    }
    const int rank = comm_.rank();
    const int ranks = comm_.size();
    const Box<3> planes = planes_of(region_, axes_, order_);
    const auto [across, along] = cuts(planes, ranks);
    const StageLayout second(planes, {across, 1, along}, ranks);
    const StageLayout columns(planes, {across, along, 1}, ranks);
    first_box_ = first_layout_.box(rank);
    second_box_ = second.box(rank);
    columns_box_ = columns.box(rank);
    if (across > 1) {
        to_second_ = transposition(first_layout_, second, traffic);
        second_array_ = BoxArray(second_box_);
    }
    const Axis& last = axes_[order_[2]];
    const auto first_values = eigenvalues(first_[0], axes_[order_[0]].cells());
    const auto second_values = eigenvalues(second_[0], axes_[order_[1]].cells());
    const double scale = first_[0].scale() * second_[0].scale();
    if (scheme == ColumnScheme::partitioned && along > 1 && whole_ && !last.periodic()) {
        const bool spare = rank >= across * along; // without planes, in a line of its own
        auto line =
            parallel::Communicator::split(comm_.get(), spare ? across + rank : rank % across, rank);
        partitioned_.emplace(std::move(line), second_box_, last, first_values, second_values,
                             equation.s, scale, singular_, traffic, sections);
        return;
    }
    if (along > 1 && across == 1)
        share_columns(columns);
    if (along > 1 && !shared_columns_) {
        to_columns_ = transposition(second, columns, traffic);
        columns_array_ = BoxArray(columns_box_);
    }
    modes_.emplace(columns_box_, last, first_values, second_values, equation.s, scale, singular_);
}

void ModeSolver::share_columns(const StageLayout& columns) {
    // A library that counts the messages of a run is told by this variable.
    if (parallel::simulated || std::getenv("UZUSHIO_TRAFFIC") != nullptr)
        return;
    shared_columns_.emplace(comm_, columns);
    int complete = shared_columns_->is_complete() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &complete, 1, MPI_INT, MPI_MIN, comm_.get());
    if (complete == 0)
        shared_columns_.reset();
}

ModeSolver::Transposition ModeSolver::transposition(const StageLayout& from, const StageLayout& to,
                                                    parallel::Traffic& traffic) const {
    return {{comm_.get(), {from.parts(), to.parts()}, 1, traffic},
            {comm_.get(), {to.parts(), from.parts()}, 1, traffic}};
}

/// Wait for other ranks in a call.
template <class Call> void ModeSolver::exchange(Call&& call) const {
    const parallel::Section section(sections_, parallel::section::transpose);
    call();
}

void ModeSolver::move(domain::Redistribution<double>& way, const View<double>& from,
                      const View<double>& to) {
    const parallel::Section section(sections_, parallel::section::transpose);
    std::vector<View<const double>> sources;
    std::vector<View<double>> targets;
    if (from.data() != nullptr)
        sources.emplace_back(from);
    if (to.data() != nullptr)
        targets.push_back(to);
    way.run(sources, targets);
}

/// Call `call` with the first index of up to `lanes` rows of plane k, and their number.
template <class Call> void ModeSolver::for_rows(std::int64_t k, Call&& call) const {
    constexpr std::int64_t lanes = AxisTransform::lanes;
    const std::int64_t end = std::min(first_box_.upper[1], region_.upper[1]);
    for (std::int64_t j = std::max(first_box_.lower[1], region_.lower[1]); j < end; j += lanes)
        call(Index<3>{first_box_.lower[0], j, k}, static_cast<int>(std::min(lanes, end - j)));
}

template <class Call> void ModeSolver::for_columns(std::int64_t k, Call&& call) const {
    constexpr std::int64_t lanes = AxisTransform::lanes;
    const Box<3>& box = second_box_;
    for (std::int64_t i = box.lower[0]; i < box.upper[0]; i += lanes)
        call(Index<3>{i, box.lower[1], k},
             static_cast<int>(std::min<std::int64_t>(lanes, box.upper[0] - i)));
}

/// Call `call(thread, begin, end)` on each thread, with its part of [lower, upper).
template <class Call>
void ModeSolver::on_threads(std::int64_t lower, std::int64_t upper, Call&& call) const {
    const auto threads = static_cast<int>(first_.size());
    linalg::on_threads(threads, threads, [&](int thread) {
        const auto part = parallel::block(static_cast<int>(upper - lower), threads, thread);
        call(static_cast<std::size_t>(thread), lower + part.begin, lower + part.end);
    });
}

void ModeSolver::transform_first(std::size_t thread, const View<const double>& f,
                                 const View<double>& x, std::int64_t k) {
    for_rows(k, [&](const Index<3>& at, int count) {
        first_[thread].forward(rows_of(f, at, count), rows_of(x, at, count));
    });
}

void ModeSolver::transform_second(std::size_t thread, const View<double>& x, std::int64_t k) {
    for_columns(k, [&](const Index<3>& at, int count) {
        const auto these = columns_of(x, at, count);
        second_[thread].forward(constant(these), these);
    });
}

void ModeSolver::invert_first(std::size_t thread, const View<double>& x, std::int64_t k) {
    for_rows(k,
             [&](const Index<3>& at, int count) { first_[thread].inverse(rows_of(x, at, count)); });
}

void ModeSolver::invert_second(std::size_t thread, const View<double>& x, std::int64_t k) {
    for_columns(k, [&](const Index<3>& at, int count) {
        second_[thread].inverse(columns_of(x, at, count));
    });
}

void ModeSolver::solve(const View<const double>& f, const View<double>& x) {
    if (singular_ && whole_)
        check_mean(f);
    sections_.mark();
    if (std::ssize(first_) == 1 && !to_second_ && !to_columns_ && !shared_columns_ && !partitioned_)
        solve_by_planes(f, x);
    else
        solve_by_stages(f, x);
}

void ModeSolver::solve_by_planes(const View<const double>& f, const View<double>& x) {
    const Box<3>& box = first_box_;
    // A pass over values that the one before it left in cache moves nothing.
    const auto lap = [&](std::string_view name, int values) {
        const double bytes = 8.0 * values * static_cast<double>(box.volume()) +
                             (name == tridiagonal ? static_cast<double>(modes_->bytes()) : 0.0);
        sections_.lap(name, {.bytes = bytes / static_cast<double>(box.extent(2))});
    };
    for (std::int64_t k = box.lower[2]; k < box.upper[2]; ++k) {
        transform_first(0, f, x, k);
        transform_second(0, x, k);
        lap(fft, 2);
        modes_->eliminate(x, k, box.lower[1], box.upper[1]);
        lap(tridiagonal, 0);
    }
    const auto invert = [&](std::int64_t k) {
        invert_second(0, x, k);
        invert_first(0, x, k);
        lap(fft, 1);
    };
    // A plane is transformed after the one below it was computed from its coefficients.
    for (std::int64_t k = box.upper[2]; k-- > box.lower[2];) {
        modes_->substitute(x, k, box.lower[1], box.upper[1]);
        lap(tridiagonal, 1);
        if (k + 1 < box.upper[2])
            invert(k + 1);
    }
    invert(box.lower[2]);
}

void ModeSolver::solve_by_stages(const View<const double>& f, const View<double>& x) {
    const bool apart = to_second_.has_value();
    const View<double> second = apart ? view_of(second_array_, second_box_) : x;
    const auto for_planes = [&](const Box<3>& box, auto&& call) {
        on_threads(box.lower[2], box.upper[2],
                   [&](std::size_t thread, std::int64_t begin, std::int64_t end) {
                       for (std::int64_t k = begin; k < end; ++k)
                           call(thread, k);
                   });
        sections_.lap(fft, {.bytes = 16.0 * static_cast<double>(box.volume())});
    };
    const auto plane = [&](std::int64_t k) {
        Box<3> box = second_box_;
        box.lower[2] = k;
        box.upper[2] = k + 1;
        return box;
    };
    if (shared_columns_)
        exchange([&] { shared_columns_->begin(); });
    for_planes(first_box_, [&](std::size_t thread, std::int64_t k) {
        transform_first(thread, f, x, k);
        if (!apart)
            transform_second(thread, x, k);
        if (shared_columns_)
            shared_columns_->put(x, plane(k));
    });
    if (apart) {
        move(to_second_->there, x, second);
        for_planes(second_box_, [&](std::size_t thread, std::int64_t k) {
            transform_second(thread, second, k);
        });
    }
    if (partitioned_)
        solve_partitioned(second);
    else
        solve_columns(second);
    for_planes(second_box_, [&](std::size_t thread, std::int64_t k) {
        if (shared_columns_)
            shared_columns_->get(x, plane(k));
        invert_second(thread, second, k);
        if (!apart)
            invert_first(thread, x, k);
    });
    if (shared_columns_)
        shared_columns_->end();
    if (apart) {
        move(to_second_->back, second, x);
        for_planes(first_box_,
                   [&](std::size_t thread, std::int64_t k) { invert_first(thread, x, k); });
    }
}

void ModeSolver::solve_columns(const View<double>& second) {
    const View<double> columns = shared_columns_ ? shared_columns_->own()
                                 : to_columns_   ? view_of(columns_array_, columns_box_)
                                                 : second;
    if (to_columns_)
        move(to_columns_->there, second, columns);
    if (shared_columns_)
        exchange([&] { shared_columns_->meet(); });
    const Box<3>& box = columns_box_;
    on_threads(box.lower[1], box.upper[1], [&](std::size_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = box.lower[2]; k < box.upper[2]; ++k)
            modes_->eliminate(columns, k, begin, end);
        for (std::int64_t k = box.upper[2]; k-- > box.lower[2];)
            modes_->substitute(columns, k, begin, end);
    });
    sections_.lap(tridiagonal, {.bytes = 32.0 * static_cast<double>(box.volume()) +
                                         2 * static_cast<double>(modes_->bytes())});
    if (to_columns_)
        move(to_columns_->back, columns, second);
    if (shared_columns_)
        exchange([&] { shared_columns_->meet(); });
}

void ModeSolver::solve_partitioned(const View<double>& x) {
    const auto on_rows = [&](auto&& call) {
        on_threads(second_box_.lower[1], second_box_.upper[1], call);
        sections_.lap(tridiagonal, {.bytes = 40.0 * static_cast<double>(second_box_.volume())});
    };
    partitioned_->keep_singular(x);
    on_rows([&](std::size_t, std::int64_t begin, std::int64_t end) {
        partitioned_->solve_own(x, begin, end);
    });
    partitioned_->exchange(x);
    on_rows([&](std::size_t, std::int64_t begin, std::int64_t end) {
        partitioned_->correct(x, begin, end);
    });
}

void ModeSolver::check_mean(const View<const double>& f) const {
    const Box<3>& box = first_box_;
    std::vector<std::array<double, 2>> sums(first_.size());
    on_threads(box.lower[2], box.upper[2],
               [&](std::size_t thread, std::int64_t begin, std::int64_t end) {
                   for (std::int64_t k = begin; k < end; ++k)
                       add_mean(f, k, sums[thread]);
               });
    std::array<double, 2> all{};
    for (const auto& [sum, magnitude] : sums) {
        all[0] += sum;
        all[1] += magnitude;
    }
    MPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_DOUBLE, MPI_SUM, comm_.get());
    check_compatibility(all[0], all[1]);
}

/// Add the integrals of plane k of f and of its magnitude.
void ModeSolver::add_mean(const View<const double>& f, std::int64_t k,
                          std::array<double, 2>& sums) const {
    const std::int64_t size = first_box_.extent(0);
    const double* width = axes_[order_[0]].widths.data() + first_box_.lower[0];
    const double thickness = axes_[order_[2]].widths[static_cast<std::size_t>(k)];
    for (std::int64_t j = first_box_.lower[1]; j < first_box_.upper[1]; ++j) {
        const double* row = &f(first_box_.lower[0], j, k);
        double sum = 0;
        double magnitude = 0;
#pragma omp simd reduction(+ : sum, magnitude)
        for (std::int64_t i = 0; i < size; ++i) {
            sum += width[i] * row[i];
            magnitude += width[i] * std::abs(row[i]);
        }
        const double across = thickness * axes_[order_[1]].widths[static_cast<std::size_t>(j)];
        sums[0] += across * sum;
        sums[1] += across * magnitude;
    }
}

} // namespace uzushio::linalg
