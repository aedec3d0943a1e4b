#pragma once

#include "linalg/tridiagonal.hpp"
#include "parallel/aligned_array.hpp"

namespace uzushio::linalg {

/// Thomas's algorithm along z with the elimination handed from rank to rank, pipelined over chunks
/// of modes: a rank works on one chunk while its neighbour works on the next. No transpose.
/// Source: Y. Yamamoto and Y. Tsuji, Phys. Rev. Fluids 3, 012602 (2018), and the pipelined Thomas
/// algorithm of A. Povitsky, Parallel Comput. 25 (1999).
class Pipelined final : public TridiagonalSolver {
  public:
    explicit Pipelined(const Column& column);
    void solve(std::span<const Stage> stages) override;
    [[nodiscard]] std::size_t bytes() const override {
        return send_.bytes() + receive_.bytes() + pivot_.bytes();
    }

    /// Modes in a chunk: a column of the fields that a solve touches fits the cache, and with
    /// several ranks in z there are enough chunks to fill the pipeline.
    [[nodiscard]] static int chunk_size(int modes, int pz);

  private:
    void solve_together(const Stage& stage);
    void call(const std::function<void(parallel::Range)>& work, parallel::Range chunk);
    void up(std::span<const System> systems, parallel::Range chunk);
    void down(std::span<const System> systems, parallel::Range chunk);
    void sweep_up(const System& system, parallel::Range chunk);
    void sweep_down(const System& system, parallel::Range chunk);
    [[nodiscard]] parallel::Range chunk(int index) const;
    void expect(int from, int values_per_mode);
    const double* arrived(int index);
    void send(int to, int index, int values_per_mode);

    const parallel::ProcessGrid& grid_;
    int modes_;
    int planes_; ///< of this rank
    int first_;  ///< this rank's first row
    int chunk_;
    int chunks_;
    parallel::AlignedArray<double> send_, receive_, pivot_;
    std::vector<MPI_Request> sends_, receives_;
    int values_expected_ = 0;
    parallel::Stopwatch& watch_;
    parallel::Traffic& traffic_;
};

} // namespace uzushio::linalg
