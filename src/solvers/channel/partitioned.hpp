#pragma once

#include <cstdint>

#include "parallel/aligned_array.hpp"
#include "parallel/thread_records.hpp"
#include "solvers/channel/halo.hpp"
#include "solvers/channel/tridiagonal.hpp"

namespace uzushio::channel {

/// Partitioned scheme: each rank eliminates its inner rows, so that its first and last rows make up
/// one small tridiagonal system with those of the other ranks. An all-to-all gives each rank whole
/// systems of a part of the modes, and another one returns their solutions: two rows of each rank
/// are exchanged instead of all rows. The solution depends on the number of ranks by rounding.
///
/// Source: H. H. Wang, ACM Trans. Math. Softw. 7 (1981); K.-H. Kim, J.-H. Kang, X. Pan, J.-I. Choi,
/// Comput. Phys. Commun. 260 (2021), 107722.
class Partitioned final : public TridiagonalSolver {
  public:
    explicit Partitioned(const TridiagonalSetup& setup);
    void solve(std::span<const SolveStage> stages) override;
    [[nodiscard]] std::size_t bytes() const override {
        return own_.bytes() + small_.bytes() + solved_.bytes() + halo_.bytes();
    }

    /// Return the bytes of the buffers of a rank that has `rows` of `total_rows` interface rows of
    /// `modes` modes and solves the systems of `mine` modes; `max_values` is that of the set-up.
    [[nodiscard]] static std::size_t bytes_of(int rows, int total_rows, int modes, int mine,
                                              int max_values);
    /// Return the values of the largest of these buffers, which MPI counts.
    [[nodiscard]] static std::int64_t max_count(int rows, int total_rows, std::int64_t modes,
                                                std::int64_t mine, int max_values);
    /// Return the number of rows of the small systems that a rank with so many planes has.
    [[nodiscard]] static int interface_rows(int planes) { return planes < 2 ? planes : 2; }

  private:
    void eliminate_inner(const System& system, parallel::Range chunk) const;
    void substitute_inner(const System& system, parallel::Range chunk) const;
    void send_interfaces(const SolveStage& stage);
    void solve_interfaces(const SolveStage& stage);
    void return_interfaces(const SolveStage& stage);
    /// Return the plane of an interface row.
    [[nodiscard]] int plane(int row) const { return row == 0 ? 0 : planes_.size() - 1; }

    const ProcessGrid& grid_;
    int threads_;
    int modes_;
    int max_values_; ///< of an interface row for one mode
    parallel::Range planes_;
    parallel::Range mine_;                  ///< modes whose small systems this rank solves
    int rows_ = 0, total_rows_ = 0;         ///< interface rows, of this rank and of the column
    std::vector<int> rows_of_, first_row_;  ///< interface rows of the ranks
    parallel::AlignedArray<double> own_;    ///< [rank][row][value][its modes]
    parallel::AlignedArray<double> small_;  ///< [row][value][my modes]
    parallel::AlignedArray<double> solved_; ///< [row, and one of zeros][re, im][my modes]
    Halo halo_;
    parallel::SectionMonitor& sections_;
    parallel::Traffic& traffic_;
    parallel::ThreadRecords records_;
};

} // namespace uzushio::channel
