#include "linalg/pipelined.hpp"

#include <algorithm>

#include "linalg/thomas.hpp"

namespace uzushio::linalg {

using parallel::Exchange;
using parallel::Range;
using parallel::Section;

namespace {

constexpr int tag_up = 21;
constexpr int tag_down = 22;

/// Values that a rank hands up for one mode: the factor of each system, re and im of each unknown.
int values_up(std::span<const System> systems) {
    int values = 0;
    for (const auto& system : systems)
        values += 1 + 2 * static_cast<int>(system.unknowns.size());
    return values;
}

int values_down(std::span<const System> systems) {
    return values_up(systems) - static_cast<int>(systems.size());
}

/// Copies the modes of a chunk between a message and rows of planes, one row after the other.
template <bool packs, class Pointer> Pointer move(Pointer message, double* row, Range chunk) {
    if constexpr (packs)
        std::copy(row + chunk.begin, row + chunk.end, message);
    else
        std::copy_n(message, chunk.size(), row + chunk.begin);
    return message + chunk.size();
}

} // namespace

Pipelined::Pipelined(const Column& column)
    : grid_(column.grid), modes_(column.modes),
      planes_(parallel::block(column.planes, grid_.pz(), grid_.column().rank()).size()),
      first_(parallel::block(column.planes, grid_.pz(), grid_.column().rank()).begin),
      chunk_(chunk_size(modes_, grid_.pz())), chunks_((modes_ + chunk_ - 1) / chunk_),
      pivot_(static_cast<std::size_t>(chunk_)), watch_(column.watch), traffic_(column.traffic) {
    if (grid_.pz() == 1)
        return;
    const auto most = static_cast<std::size_t>(3 * column.most_unknowns * modes_);
    send_ = parallel::AlignedArray<double>(most);
    receive_ = parallel::AlignedArray<double>(most);
    sends_.assign(static_cast<std::size_t>(chunks_), MPI_REQUEST_NULL);
    receives_ = sends_;
}

int Pipelined::chunk_size(int modes, int pz) {
    constexpr int cached = 256;
    if (pz == 1)
        return std::min(modes, cached);
    const int filling = (modes + 8 * pz - 1) / (8 * pz);
    return std::clamp(filling, std::min(modes, 64), std::min(modes, 1024));
}

Range Pipelined::chunk(int index) const {
    return {index * chunk_, std::min(modes_, (index + 1) * chunk_)};
}

void Pipelined::solve(std::span<const Stage> stages) {
    if (grid_.pz() > 1) {
        for (const auto& stage : stages)
            solve_together(stage);
        return;
    }
    for (int c = 0; c < chunks_; ++c)
        for (const auto& stage : stages) {
            call(stage.before, chunk(c));
            up(stage.systems, chunk(c));
            down(stage.systems, chunk(c));
            call(stage.after, chunk(c));
        }
}

void Pipelined::call(const std::function<void(Range)>& work, Range chunk) {
    if (!work)
        return;
    work(chunk);
    watch_.lap(Section::pointwise);
}

void Pipelined::solve_together(const Stage& stage) {
    const std::span<const System> systems = stage.systems;
    if (stage.begin)
        stage.begin();
    const auto wait_for_sends = [&] {
        MPI_Waitall(chunks_, sends_.data(), MPI_STATUSES_IGNORE);
        watch_.lap(Section::wait);
    };

    expect(grid_.below(), values_up(systems));
    for (int c = 0; c < chunks_; ++c) {
        call(stage.before, chunk(c));
        if (const double* message = arrived(c))
            for (const auto& system : systems) {
                message = move<false>(message, system.factors.re(-1), chunk(c));
                for (const auto& x : system.unknowns) {
                    message = move<false>(message, x.re(-1), chunk(c));
                    message = move<false>(message, x.im(-1), chunk(c));
                }
            }
        up(systems, chunk(c));
        double* message = send_.data() + std::ptrdiff_t{values_up(systems)} * chunk(c).begin;
        for (const auto& system : systems) {
            message = move<true>(message, system.factors.re(planes_ - 1), chunk(c));
            for (const auto& x : system.unknowns) {
                message = move<true>(message, x.re(planes_ - 1), chunk(c));
                message = move<true>(message, x.im(planes_ - 1), chunk(c));
            }
        }
        send(grid_.above(), c, values_up(systems));
    }
    wait_for_sends();

    expect(grid_.above(), values_down(systems));
    for (int c = 0; c < chunks_; ++c) {
        if (const double* message = arrived(c))
            for (const auto& system : systems)
                for (const auto& x : system.unknowns) {
                    message = move<false>(message, x.re(planes_), chunk(c));
                    message = move<false>(message, x.im(planes_), chunk(c));
                }
        down(systems, chunk(c));
        double* message = send_.data() + std::ptrdiff_t{values_down(systems)} * chunk(c).begin;
        for (const auto& system : systems)
            for (const auto& x : system.unknowns) {
                message = move<true>(message, x.re(0), chunk(c));
                message = move<true>(message, x.im(0), chunk(c));
            }
        send(grid_.below(), c, values_down(systems));
        call(stage.after, chunk(c));
    }
    wait_for_sends();
}

void Pipelined::expect(int from, int values_per_mode) {
    values_expected_ = from == MPI_PROC_NULL ? 0 : values_per_mode;
    const int tag = from == grid_.below() ? tag_up : tag_down;
    for (int c = 0; c < chunks_ && values_expected_ > 0; ++c)
        MPI_Irecv(receive_.data() + std::ptrdiff_t{values_per_mode} * chunk(c).begin,
                  values_per_mode * chunk(c).size(), MPI_DOUBLE, from, tag, grid_.column().get(),
                  &receives_[static_cast<std::size_t>(c)]);
}

const double* Pipelined::arrived(int index) {
    if (values_expected_ == 0)
        return nullptr;
    watch_.lap(Section::tridiagonal);
    MPI_Wait(&receives_[static_cast<std::size_t>(index)], MPI_STATUS_IGNORE);
    watch_.lap(Section::wait);
    return receive_.data() + std::ptrdiff_t{values_expected_} * chunk(index).begin;
}

void Pipelined::send(int to, int index, int values_per_mode) {
    if (to != MPI_PROC_NULL) {
        const int count = values_per_mode * chunk(index).size();
        MPI_Isend(send_.data() + std::ptrdiff_t{values_per_mode} * chunk(index).begin, count,
                  MPI_DOUBLE, to, to == grid_.above() ? tag_up : tag_down, grid_.column().get(),
                  &sends_[static_cast<std::size_t>(index)]);
        traffic_.add(Exchange::pipeline, 1, 8LL * count);
    }
    watch_.lap(Section::tridiagonal);
}

void Pipelined::up(std::span<const System> systems, Range chunk) {
    for (const auto& system : systems)
        sweep_up(system, chunk);
    watch_.lap(Section::tridiagonal);
}

void Pipelined::down(std::span<const System> systems, Range chunk) {
    for (const auto& system : systems)
        sweep_down(system, chunk);
    watch_.lap(Section::tridiagonal);
}

void Pipelined::sweep_up(const System& system, Range chunk) {
    const auto& factors = system.factors;
    const int m = chunk.begin;
    for (int k = 0; k < planes_; ++k) {
        const double lower = system.rows->lower[static_cast<std::size_t>(first_ + k)];
        eliminate_pivot(*system.rows, first_ + k, system.shift + m, factors.re(k - 1) + m,
                        factors.re(k) + m, pivot_.data(), chunk.size());
        for (const auto& x : system.unknowns) {
            eliminate(lower, x.re(k - 1) + m, pivot_.data(), x.re(k) + m, chunk.size());
            eliminate(lower, x.im(k - 1) + m, pivot_.data(), x.im(k) + m, chunk.size());
        }
    }
}

void Pipelined::sweep_down(const System& system, Range chunk) {
    const int m = chunk.begin;
    for (int k = planes_ - 1; k >= 0; --k) {
        const double* factor = system.factors.re(k) + m;
        for (const auto& x : system.unknowns) {
            substitute(factor, x.re(k + 1) + m, x.re(k) + m, chunk.size());
            substitute(factor, x.im(k + 1) + m, x.im(k) + m, chunk.size());
        }
    }
}

} // namespace uzushio::linalg
