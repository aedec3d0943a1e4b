#pragma once

#include "parallel/aligned_array.hpp"
#include "solvers/channel/halo.hpp"
#include "solvers/channel/tridiagonal.hpp"

namespace uzushio::channel {

/// Conventional scheme: an all-to-all gives each rank whole columns of a part of the modes, the
/// rank solves them by Thomas's algorithm, and another all-to-all returns the solution.
class Transposed final : public TridiagonalSolver {
  public:
    explicit Transposed(const TridiagonalSetup& setup);
    void solve(std::span<const SolveStage> stages) override;
    [[nodiscard]] std::size_t bytes() const override {
        return blocks_.bytes() + columns_.bytes() + factors_.bytes() + pivot_.bytes() +
               halo_.bytes();
    }

  private:
    void to_columns(const Planes& x);
    void solve_columns(const System& system);
    void to_blocks(const Planes& x);

    const ProcessGrid& grid_;
    int threads_;
    int modes_;
    int rows_; ///< of the whole column
    parallel::Range planes_;
    parallel::Range mine_;                   ///< modes whose columns this rank solves
    parallel::AlignedArray<double> blocks_;  ///< [rank][plane][re, im][its modes]
    parallel::AlignedArray<double> columns_; ///< [row, and one of zeros][re, im][my modes]
    parallel::AlignedArray<double> factors_; ///< [thread][row, and one of zeros][modes of a chunk]
    parallel::AlignedArray<double> pivot_;   ///< [thread][modes of a chunk]
    std::vector<int> block_counts_, block_offsets_, column_counts_, column_offsets_;
    std::vector<int> ghost_counts_, ghost_offsets_, return_counts_; ///< with the plane above
    Halo halo_;
    parallel::SectionMonitor& sections_;
    parallel::Traffic& traffic_;
};

} // namespace uzushio::channel
