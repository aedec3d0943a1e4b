#include "linalg/pipelined.hpp"

#include <algorithm>
#include <cassert>

#include "linalg/thomas.hpp"

namespace uzushio::linalg {

using parallel::Exchange;
using parallel::Planes;
using parallel::Range;
using parallel::Section;

namespace {

constexpr int first_tag = 21;

/// Values that a rank hands up for one mode: the factor of each system, re and im of each unknown
/// and of each carried field. Down go the unknowns alone.
int values_up(const Stage& stage) {
    std::size_t values = 2 * stage.carried.size();
    for (const auto& system : stage.systems)
        values += 1 + 2 * system.unknowns.size();
    return static_cast<int>(values);
}

int values_down(const Stage& stage) {
    std::size_t values = 0;
    for (const auto& system : stage.systems)
        values += 2 * system.unknowns.size();
    return static_cast<int>(values);
}

/// Visits the rows that a message holds, in their order: those of plane k.
template <class F> void rows_up(const Stage& stage, int k, F&& row) {
    for (const auto& field : stage.carried) {
        row(field.re(k));
        row(field.im(k));
    }
    for (const auto& system : stage.systems) {
        row(system.factors.re(k));
        for (const auto& x : system.unknowns) {
            row(x.re(k));
            row(x.im(k));
        }
    }
}

template <class F> void rows_down(const Stage& stage, int k, F&& row) {
    for (const auto& system : stage.systems)
        for (const auto& x : system.unknowns) {
            row(x.re(k));
            row(x.im(k));
        }
}

/// Copies the modes of a chunk from rows to a message.
auto pack(double* message, Range chunk) {
    return [message, chunk](const double* row) mutable {
        message = std::copy(row + chunk.begin, row + chunk.end, message);
    };
}

auto unpack(const double* message, Range chunk) {
    return [message, chunk](double* row) mutable {
        std::copy_n(message, chunk.size(), row + chunk.begin);
        message += chunk.size();
    };
}

} // namespace

Pipelined::Pipelined(const Column& column)
    : grid_(column.grid), modes_(column.modes),
      planes_(parallel::block(column.planes, grid_.pz(), grid_.column().rank()).size()),
      first_(parallel::block(column.planes, grid_.pz(), grid_.column().rank()).begin),
      chunk_(chunk_size(modes_, grid_.pz())), chunks_((modes_ + chunk_ - 1) / chunk_),
      lanes_(static_cast<std::size_t>(2 * column.stages)), pivot_(static_cast<std::size_t>(chunk_)),
      watch_(column.watch), traffic_(column.traffic) {
    for (auto& lane : lanes_) {
        const int room = grid_.pz() > 1 ? depth * column.values * chunk_ : 0;
        lane.outgoing = parallel::AlignedArray<double>(static_cast<std::size_t>(room));
        lane.incoming = parallel::AlignedArray<double>(static_cast<std::size_t>(room));
        lane.sends.assign(depth, MPI_REQUEST_NULL);
        lane.receives = lane.sends;
    }
}

std::size_t Pipelined::bytes() const {
    std::size_t sum = pivot_.bytes();
    for (const auto& lane : lanes_)
        sum += lane.outgoing.bytes() + lane.incoming.bytes();
    return sum;
}

int Pipelined::chunk_size(int modes, int pz) {
    constexpr int cached = 256;
    if (pz == 1)
        return std::min(modes, cached);
    return std::clamp(modes / (16 * pz), std::min(modes, 64), cached);
}

Range Pipelined::chunk(int index) const {
    return {index * chunk_, std::min(modes_, (index + 1) * chunk_)};
}

void Pipelined::solve(std::span<const Stage> stages) {
    assert(2 * stages.size() <= lanes_.size());
    const int sweeps = 2 * static_cast<int>(stages.size());
    const int last = grid_.pz() - 1;
    const int rank = grid_.column().rank();
    const auto lane = [&](int sweep) -> Lane& { return lanes_[static_cast<std::size_t>(sweep)]; };
    const auto stage = [&](int sweep) -> const Stage& {
        return stages[static_cast<std::size_t>(sweep / 2)];
    };
    for (int sweep = 0; sweep < sweeps; ++sweep)
        open(lane(sweep), stage(sweep), sweep);
    for (int slot = 0; slot < chunks_ + sweeps * last; ++slot)
        for (int sweep = 0; sweep < sweeps; ++sweep) {
            const bool rises = sweep % 2 == 0;
            const int index = slot - sweep * last - (rises ? rank : last - rank);
            if (index < 0 || index >= chunks_)
                continue;
            if (rises)
                up(stage(sweep), lane(sweep), index);
            else
                down(stage(sweep), lane(sweep), index);
        }
    for (int sweep = 0; sweep < sweeps; ++sweep)
        MPI_Waitall(depth, lane(sweep).sends.data(), MPI_STATUSES_IGNORE);
    watch_.lap(Section::wait);
}

void Pipelined::open(Lane& lane, const Stage& stage, int sweep) {
    const bool rises = sweep % 2 == 0;
    lane.values = rises ? values_up(stage) : values_down(stage);
    lane.from = rises ? grid_.below() : grid_.above();
    lane.to = rises ? grid_.above() : grid_.below();
    lane.tag = first_tag + sweep;
    for (int index = 0; index < std::min(depth, chunks_); ++index)
        receive(lane, index);
}

void Pipelined::receive(Lane& lane, int index) {
    if (lane.from == MPI_PROC_NULL || index >= chunks_)
        return;
    const int place = index % depth;
    MPI_Irecv(lane.incoming.data() + std::ptrdiff_t{place} * lane.values * chunk_,
              lane.values * chunk(index).size(), MPI_DOUBLE, lane.from, lane.tag,
              grid_.column().get(), &lane.receives[static_cast<std::size_t>(place)]);
}

/// The message of a chunk, or nothing at the end of the column.
const double* Pipelined::arrived(Lane& lane, int index) {
    if (lane.from == MPI_PROC_NULL)
        return nullptr;
    const int place = index % depth;
    watch_.lap(Section::tridiagonal);
    MPI_Wait(&lane.receives[static_cast<std::size_t>(place)], MPI_STATUS_IGNORE);
    watch_.lap(Section::wait);
    return lane.incoming.data() + std::ptrdiff_t{place} * lane.values * chunk_;
}

/// Where to put the message of a chunk, or nothing at the end of the column.
double* Pipelined::outgoing(Lane& lane, int index) {
    if (lane.to == MPI_PROC_NULL)
        return nullptr;
    const int place = index % depth;
    MPI_Wait(&lane.sends[static_cast<std::size_t>(place)], MPI_STATUS_IGNORE);
    return lane.outgoing.data() + std::ptrdiff_t{place} * lane.values * chunk_;
}

void Pipelined::send(Lane& lane, int index) {
    const int place = index % depth;
    const int count = lane.values * chunk(index).size();
    MPI_Isend(lane.outgoing.data() + std::ptrdiff_t{place} * lane.values * chunk_, count,
              MPI_DOUBLE, lane.to, lane.tag, grid_.column().get(),
              &lane.sends[static_cast<std::size_t>(place)]);
    traffic_.add(Exchange::pipeline, 1, 8LL * count);
}

void Pipelined::call(const std::function<void(Range)>& work, Range chunk) {
    watch_.lap(Section::tridiagonal);
    if (work)
        work(chunk);
    watch_.lap(Section::pointwise);
}

void Pipelined::up(const Stage& stage, Lane& lane, int index) {
    const auto modes = chunk(index);
    // What needs nothing from below is done before waiting for it.
    if (stage.carried.empty())
        call(stage.before, modes);
    if (const double* message = arrived(lane, index)) {
        rows_up(stage, -1, unpack(message, modes));
        receive(lane, index + depth);
    }
    if (!stage.carried.empty())
        call(stage.before, modes);
    for (const auto& system : stage.systems)
        sweep_up(system, modes);
    if (double* message = outgoing(lane, index)) {
        rows_up(stage, planes_ - 1, pack(message, modes));
        send(lane, index);
    }
    watch_.lap(Section::tridiagonal);
}

void Pipelined::down(const Stage& stage, Lane& lane, int index) {
    const auto modes = chunk(index);
    if (const double* message = arrived(lane, index)) {
        rows_down(stage, planes_, unpack(message, modes));
        receive(lane, index + depth);
    }
    for (const auto& system : stage.systems)
        sweep_down(system, modes);
    if (double* message = outgoing(lane, index)) {
        rows_down(stage, 0, pack(message, modes));
        send(lane, index);
    }
    call(stage.after, modes);
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
