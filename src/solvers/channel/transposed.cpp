#include "solvers/channel/transposed.hpp"

#include <algorithm>

#include "solvers/channel/chunks.hpp"
#include "solvers/channel/thomas.hpp"

namespace uzushio::channel {

using parallel::block;
using parallel::Exchange;
using parallel::Range;
namespace section = parallel::section;

namespace {

constexpr int chunk_size = 256; ///< modes whose columns fit the cache

} // namespace

Transposed::Transposed(const TridiagonalSetup& setup)
    : grid_(setup.grid), threads_(setup.threads), modes_(setup.modes), rows_(setup.planes),
      planes_(block(rows_, grid_.pz(), grid_.column().rank())),
      mine_(block(modes_, grid_.pz(), grid_.column().rank())),
      blocks_(static_cast<std::size_t>(2 * (planes_.size() + 1)) *
              static_cast<std::size_t>(modes_)),
      columns_(static_cast<std::size_t>(2 * (rows_ + 1)) * static_cast<std::size_t>(mine_.size())),
      factors_(static_cast<std::size_t>(threads_) * static_cast<std::size_t>(rows_ + 1) *
               chunk_size),
      pivot_(static_cast<std::size_t>(threads_) * chunk_size),
      halo_(grid_, static_cast<std::size_t>(2 * modes_), 1, setup.sections, setup.traffic),
      sections_(setup.sections), traffic_(setup.traffic) {
    int offset = 0;
    int ghost_offset = 0;
    for (int r = 0; r < grid_.pz(); ++r) {
        const int modes = 2 * block(modes_, grid_.pz(), r).size();
        const auto planes = block(rows_, grid_.pz(), r);
        block_counts_.push_back(planes_.size() * modes);
        block_offsets_.push_back(offset);
        offset += block_counts_.back();
        ghost_counts_.push_back((planes_.size() + 1) * modes);
        ghost_offsets_.push_back(ghost_offset);
        ghost_offset += ghost_counts_.back();
        column_counts_.push_back(planes.size() * 2 * mine_.size());
        return_counts_.push_back((planes.size() + 1) * 2 * mine_.size());
        column_offsets_.push_back(planes.begin * 2 * mine_.size());
    }
}

void Transposed::solve(std::span<const SolveStage> stages) {
    const auto chunks = [&](const auto& work, double flops) {
        if (work)
            for_chunks(threads_, modes_, chunk_size, [&](int, Range chunk) { work(chunk); });
        sections_.lap(section::pointwise, {.flops = flops * modes_});
    };
    for (const auto& stage : stages) {
        for (const auto& field : stage.carried)
            halo_.exchange({&field, 1}, {});
        chunks(stage.before, stage.before_flops);
        for (const auto& system : stage.systems)
            for (const auto& x : system.unknowns) {
                to_columns(x);
                solve_columns(system);
                to_blocks(x);
            }
        chunks(stage.after, stage.after_flops);
    }
}

void Transposed::to_columns(const Planes& x) {
    for_chunks(threads_, planes_.size(), 1, [&](int, Range plane) {
        const int k = plane.begin;
        for (int r = 0; r < grid_.pz(); ++r) {
            const auto modes = block(modes_, grid_.pz(), r);
            double* to = blocks_.data() + block_offsets_[static_cast<std::size_t>(r)] +
                         std::ptrdiff_t{2} * k * modes.size();
            to = std::copy(x.re(k) + modes.begin, x.re(k) + modes.end, to);
            std::copy(x.im(k) + modes.begin, x.im(k) + modes.end, to);
        }
    });
    MPI_Alltoallv(blocks_.data(), block_counts_.data(), block_offsets_.data(), MPI_DOUBLE,
                  columns_.data(), column_counts_.data(), column_offsets_.data(), MPI_DOUBLE,
                  grid_.column().get());
    const auto own = static_cast<std::size_t>(grid_.column().rank());
    traffic_.add(Exchange::transpose_z, grid_.pz() - 1,
                 8LL * (2LL * planes_.size() * modes_ - block_counts_[own]));
    sections_.lap(section::transpose);
}

void Transposed::solve_columns(const System& system) {
    const int width = 2 * mine_.size();
    const std::ptrdiff_t imaginary = mine_.size();
    for_chunks(threads_, mine_.size(), chunk_size, [&](int thread, Range chunk) {
        const int m = chunk.begin, count = chunk.size();
        double* const factors = factors_.data() + std::ptrdiff_t{thread} * (rows_ + 1) * chunk_size;
        double* const pivot = pivot_.data() + std::ptrdiff_t{thread} * chunk_size;
        // The last rows of both arrays stay zero: the row below the first.
        const double* factor_below = factors + std::ptrdiff_t{rows_} * chunk_size;
        const double* below = columns_.data() + std::ptrdiff_t{rows_} * width + m;
        for (int k = 0; k < rows_; ++k) {
            double* factor = factors + std::ptrdiff_t{k} * chunk_size;
            double* x = columns_.data() + std::ptrdiff_t{k} * width + m;
            const double lower = system.rows->lower[static_cast<std::size_t>(k)];
            eliminate_pivot(*system.rows, k, system.shift + mine_.begin + m, factor_below, factor,
                            pivot, count);
            eliminate(lower, below, pivot, x, count);
            eliminate(lower, below + imaginary, pivot, x + imaginary, count);
            factor_below = factor;
            below = x;
        }
        for (int k = rows_ - 2; k >= 0; --k) {
            const double* factor = factors + std::ptrdiff_t{k} * chunk_size;
            double* x = columns_.data() + std::ptrdiff_t{k} * width + m;
            substitute(factor, x + width, x, count);
            substitute(factor, x + width + imaginary, x + imaginary, count);
        }
    });
    constexpr double flops = pivot_flops + 2 * (eliminate_flops + substitute_flops);
    sections_.lap(section::tridiagonal, {.flops = flops * rows_ * mine_.size()});
}

void Transposed::to_blocks(const Planes& x) {
    MPI_Alltoallv(columns_.data(), return_counts_.data(), column_offsets_.data(), MPI_DOUBLE,
                  blocks_.data(), ghost_counts_.data(), ghost_offsets_.data(), MPI_DOUBLE,
                  grid_.column().get());
    const auto own = static_cast<std::size_t>(grid_.column().rank());
    traffic_.add(Exchange::transpose_z, grid_.pz() - 1,
                 8LL * (2LL * mine_.size() * (rows_ + grid_.pz()) - return_counts_[own]));
    for_chunks(threads_, planes_.size() + 1, 1, [&](int, Range plane) {
        const int k = plane.begin;
        for (int r = 0; r < grid_.pz(); ++r) {
            const auto modes = block(modes_, grid_.pz(), r);
            const double* from = blocks_.data() + ghost_offsets_[static_cast<std::size_t>(r)] +
                                 std::ptrdiff_t{2} * k * modes.size();
            std::copy_n(from, modes.size(), x.re(k) + modes.begin);
            std::copy_n(from + modes.size(), modes.size(), x.im(k) + modes.begin);
        }
    });
    sections_.lap(section::transpose);
}

} // namespace uzushio::channel
