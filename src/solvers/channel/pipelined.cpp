#include "solvers/channel/pipelined.hpp"

#include <algorithm>
#include <cassert>

#include "parallel/threads.hpp"
#include "solvers/channel/thomas.hpp"

namespace uzushio::channel {

using parallel::Exchange;
using parallel::Range;
namespace section = parallel::section;

namespace {

constexpr int first_tag = 41;

int chunk_count(int modes, int pz) {
    const int chunk = Pipelined::chunk_size(modes, pz);
    return (modes + chunk - 1) / chunk;
}

/// Return the values that a rank sends up for one mode: the factor of each system, and re and im of
/// each unknown and of each carried field.
int values_up(const SolveStage& stage) {
    std::size_t values = 2 * stage.carried.size();
    for (const auto& system : stage.systems)
        values += 1 + 2 * system.unknowns.size();
    return static_cast<int>(values);
}

/// Return the values that a rank sends down for one mode: re and im of each unknown.
int values_down(const SolveStage& stage) {
    std::size_t values = 0;
    for (const auto& system : stage.systems)
        values += 2 * system.unknowns.size();
    return static_cast<int>(values);
}

/// Return the operations of a sweep up for one mode of one plane.
double up_flops(const SolveStage& stage) {
    double flops = 0;
    for (const auto& system : stage.systems)
        flops += pivot_flops + 2 * eliminate_flops * static_cast<double>(system.unknowns.size());
    return flops;
}

/// Return the operations of a sweep down for one mode of one plane.
double down_flops(const SolveStage& stage) { return substitute_flops * values_down(stage); }

/// Call `row` for the rows of plane k that a message up holds, in its order.
template <class F> void rows_up(const SolveStage& stage, int k, F&& row) {
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

/// Call `row` for the rows of plane k that a message down holds, in its order.
template <class F> void rows_down(const SolveStage& stage, int k, F&& row) {
    for (const auto& system : stage.systems)
        for (const auto& x : system.unknowns) {
            row(x.re(k));
            row(x.im(k));
        }
}

/// Return a function that appends the modes of a chunk of a row to a message.
auto pack(double* message, Range chunk) {
    return [message, chunk](const double* row) mutable {
        message = std::copy(row + chunk.begin, row + chunk.end, message);
    };
}

/// Return a function that takes the modes of a chunk of a row from a message.
auto unpack(const double* message, Range chunk) {
    return [message, chunk](double* row) mutable {
        std::copy_n(message, chunk.size(), row + chunk.begin);
        message += chunk.size();
    };
}

} // namespace

ChunkSweeps::ChunkSweeps(const TridiagonalSetup& setup, Range chunks, int thread,
                         parallel::SectionMonitor& sections, parallel::Traffic& traffic)
    : grid_(setup.grid), modes_(setup.modes),
      planes_(parallel::block(setup.planes, grid_.pz(), grid_.column().rank()).size()),
      first_(parallel::block(setup.planes, grid_.pz(), grid_.column().rank()).begin),
      chunk_(Pipelined::chunk_size(modes_, grid_.pz())), first_chunk_(chunks.begin),
      chunks_(chunks.size()), first_tag_(first_tag + 2 * setup.max_stages * thread),
      sweeps_(static_cast<std::size_t>(2 * setup.max_stages)),
      pivot_(static_cast<std::size_t>(chunk_)), sections_(sections), traffic_(traffic) {
    for (auto& messages : sweeps_) {
        const int size = grid_.pz() > 1 ? max_in_flight * setup.max_values * chunk_ : 0;
        messages.outgoing = parallel::AlignedArray<double>(static_cast<std::size_t>(size));
        messages.incoming = parallel::AlignedArray<double>(static_cast<std::size_t>(size));
        messages.sends.assign(max_in_flight, MPI_REQUEST_NULL);
        messages.receives = messages.sends;
    }
}

std::size_t ChunkSweeps::bytes() const {
    std::size_t sum = pivot_.bytes();
    for (const auto& messages : sweeps_)
        sum += messages.outgoing.bytes() + messages.incoming.bytes();
    return sum;
}

Range ChunkSweeps::chunk(int index) const {
    const int begin = (first_chunk_ + index) * chunk_;
    return {begin, std::min(modes_, begin + chunk_)};
}

void ChunkSweeps::solve(std::span<const SolveStage> stages) {
    assert(2 * stages.size() <= sweeps_.size());
    const int sweeps = 2 * static_cast<int>(stages.size());
    const int last = grid_.pz() - 1;
    const int rank = grid_.column().rank();
    const auto messages = [&](int sweep) -> SweepMessages& {
        return sweeps_[static_cast<std::size_t>(sweep)];
    };
    const auto stage = [&](int sweep) -> const SolveStage& {
        return stages[static_cast<std::size_t>(sweep / 2)];
    };
    for (int sweep = 0; sweep < sweeps; ++sweep)
        start(messages(sweep), stage(sweep), sweep);
    for (int slot = 0; slot < chunks_ + sweeps * last; ++slot)
        for (int sweep = 0; sweep < sweeps; ++sweep) {
            const bool upward = sweep % 2 == 0;
            const int index = slot - sweep * last - (upward ? rank : last - rank);
            if (index < 0 || index >= chunks_)
                continue;
            if (upward)
                up(stage(sweep), messages(sweep), index);
            else
                down(stage(sweep), messages(sweep), index);
        }
    for (int sweep = 0; sweep < sweeps; ++sweep)
        for (MPI_Request& send : messages(sweep).sends)
            grid_.turn().wait(send);
    sections_.lap(section::wait);
}

void ChunkSweeps::start(SweepMessages& messages, const SolveStage& stage, int sweep) {
    const bool upward = sweep % 2 == 0;
    messages.values = upward ? values_up(stage) : values_down(stage);
    messages.from = upward ? grid_.below() : grid_.above();
    messages.to = upward ? grid_.above() : grid_.below();
    messages.tag = first_tag_ + sweep;
    for (int index = 0; index < std::min(max_in_flight, chunks_); ++index)
        start_receive(messages, index);
}

void ChunkSweeps::start_receive(SweepMessages& messages, int index) {
    if (messages.from == MPI_PROC_NULL || index >= chunks_)
        return;
    const int slot = index % max_in_flight;
    grid_.turn().call([&] {
        MPI_Irecv(messages.incoming.data() + std::ptrdiff_t{slot} * messages.values * chunk_,
                  messages.values * chunk(index).size(), MPI_DOUBLE, messages.from, messages.tag,
                  grid_.column().get(), &messages.receives[static_cast<std::size_t>(slot)]);
    });
}

/// Wait for the message of a chunk and return it, or null at the end of the column.
const double* ChunkSweeps::wait_for_message(SweepMessages& messages, int index) {
    if (messages.from == MPI_PROC_NULL)
        return nullptr;
    const int slot = index % max_in_flight;
    sections_.lap(section::tridiagonal);
    grid_.turn().wait(messages.receives[static_cast<std::size_t>(slot)]);
    sections_.lap(section::wait);
    return messages.incoming.data() + std::ptrdiff_t{slot} * messages.values * chunk_;
}

/// Wait until the send buffer of a chunk is free and return it, or null at the end of the column.
double* ChunkSweeps::wait_for_send_buffer(SweepMessages& messages, int index) {
    if (messages.to == MPI_PROC_NULL)
        return nullptr;
    const int slot = index % max_in_flight;
    grid_.turn().wait(messages.sends[static_cast<std::size_t>(slot)]);
    return messages.outgoing.data() + std::ptrdiff_t{slot} * messages.values * chunk_;
}

void ChunkSweeps::start_send(SweepMessages& messages, int index) {
    const int slot = index % max_in_flight;
    const int count = messages.values * chunk(index).size();
    grid_.turn().call([&] {
        MPI_Isend(messages.outgoing.data() + std::ptrdiff_t{slot} * messages.values * chunk_, count,
                  MPI_DOUBLE, messages.to, messages.tag, grid_.column().get(),
                  &messages.sends[static_cast<std::size_t>(slot)]);
    });
    traffic_.add(Exchange::column_shift, 1, 8LL * count);
}

void ChunkSweeps::call(const std::function<void(Range)>& work, Range chunk, double flops) {
    sections_.lap(section::tridiagonal);
    if (work)
        work(chunk);
    sections_.lap(section::pointwise, {.flops = flops * chunk.size()});
}

void ChunkSweeps::up(const SolveStage& stage, SweepMessages& messages, int index) {
    const auto modes = chunk(index);
    // A right-hand side that needs no value from below is computed before the wait.
    if (stage.carried.empty())
        call(stage.before, modes, stage.before_flops);
    if (const double* message = wait_for_message(messages, index)) {
        rows_up(stage, -1, unpack(message, modes));
        start_receive(messages, index + max_in_flight);
    }
    if (!stage.carried.empty())
        call(stage.before, modes, stage.before_flops);
    for (const auto& system : stage.systems)
        sweep_up(system, modes);
    if (double* message = wait_for_send_buffer(messages, index)) {
        rows_up(stage, planes_ - 1, pack(message, modes));
        start_send(messages, index);
    }
    sections_.lap(section::tridiagonal, {.flops = up_flops(stage) * planes_ * modes.size()});
}

void ChunkSweeps::down(const SolveStage& stage, SweepMessages& messages, int index) {
    const auto modes = chunk(index);
    if (const double* message = wait_for_message(messages, index)) {
        rows_down(stage, planes_, unpack(message, modes));
        start_receive(messages, index + max_in_flight);
    }
    for (const auto& system : stage.systems)
        sweep_down(system, modes);
    sections_.lap(section::tridiagonal, {.flops = down_flops(stage) * planes_ * modes.size()});
    if (double* message = wait_for_send_buffer(messages, index)) {
        rows_down(stage, 0, pack(message, modes));
        start_send(messages, index);
    }
    call(stage.after, modes, stage.after_flops);
}

void ChunkSweeps::sweep_up(const System& system, Range chunk) {
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

void ChunkSweeps::sweep_down(const System& system, Range chunk) {
    const int m = chunk.begin;
    for (int k = planes_ - 1; k >= 0; --k) {
        const double* factor = system.factors.re(k) + m;
        for (const auto& x : system.unknowns) {
            substitute(factor, x.re(k + 1) + m, x.re(k) + m, chunk.size());
            substitute(factor, x.im(k + 1) + m, x.im(k) + m, chunk.size());
        }
    }
}

Pipelined::Pipelined(const TridiagonalSetup& setup)
    : threads_(setup.threads),
      records_(parts(setup.modes, setup.grid.pz(), threads_), setup.sections, setup.traffic) {
    const int chunks = chunk_count(setup.modes, setup.grid.pz());
    const int count = parts(setup.modes, setup.grid.pz(), threads_);
    for (int part = 0; part < count; ++part)
        sweeps_.emplace_back(setup, parallel::block(chunks, count, part), part,
                             records_.sections(part), records_.traffic(part));
}

std::size_t Pipelined::bytes() const {
    std::size_t sum = 0;
    for (const auto& sweeps : sweeps_)
        sum += sweeps.bytes();
    return sum;
}

int Pipelined::chunk_size(int modes, int pz) {
    constexpr int cached = 256;
    if (pz == 1)
        return std::min(modes, cached);
    return std::clamp(modes / (16 * pz), std::min(modes, 64), cached);
}

int Pipelined::parts(int modes, int pz, int threads) {
    return std::min(threads, chunk_count(modes, pz));
}

void Pipelined::solve(std::span<const SolveStage> stages) {
    parallel::on_threads(threads_, static_cast<int>(sweeps_.size()),
                         [&](int part) { sweeps_[static_cast<std::size_t>(part)].solve(stages); });
    records_.collect();
}

} // namespace uzushio::channel
