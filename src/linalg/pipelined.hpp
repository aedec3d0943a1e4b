#pragma once

#include "linalg/tridiagonal.hpp"
#include "parallel/aligned_array.hpp"

namespace uzushio::linalg {

/// Thomas's algorithm along z with the elimination handed from rank to rank, pipelined over chunks
/// of modes: a rank works on one chunk while its neighbour works on the next. No transpose.
///
/// Each stage sweeps up and then down, and all sweeps of all stages are in flight at once: sweep s
/// of chunk c runs on rank r in slot c + s (P - 1) + (r going up, P - 1 - r going down), one slot
/// after the neighbour that it needs. The pipeline fills once for all stages, a chunk is still in
/// cache when its next sweep comes, and with one rank it goes through all sweeps at once.
/// Source: Y. Yamamoto and Y. Tsuji, Phys. Rev. Fluids 3, 012602 (2018), and the pipelined Thomas
/// algorithm of A. Povitsky, Parallel Comput. 25 (1999).
class Pipelined final : public TridiagonalSolver {
  public:
    explicit Pipelined(const Column& column);
    void solve(std::span<const Stage> stages) override;
    [[nodiscard]] std::size_t bytes() const override;

    /// Modes in a chunk: its columns fit the cache, and with several ranks in z there are enough
    /// chunks to fill the pipeline.
    [[nodiscard]] static int chunk_size(int modes, int pz);
    /// Chunks of one sweep that may be on their way at a time.
    static constexpr int depth = 4;

  private:
    /// The messages of one sweep, in a ring of buffers.
    struct Lane {
        parallel::AlignedArray<double> outgoing, incoming; ///< [depth][values of a chunk]
        std::vector<MPI_Request> sends, receives;
        int values = 0; ///< for one mode
        int from = MPI_PROC_NULL;
        int to = MPI_PROC_NULL;
        int tag = 0;
    };

    void open(Lane& lane, const Stage& stage, int sweep);
    void receive(Lane& lane, int index);
    const double* arrived(Lane& lane, int index);
    double* outgoing(Lane& lane, int index);
    void send(Lane& lane, int index);

    void up(const Stage& stage, Lane& lane, int index);
    void down(const Stage& stage, Lane& lane, int index);
    void sweep_up(const System& system, parallel::Range chunk);
    void sweep_down(const System& system, parallel::Range chunk);
    void call(const std::function<void(parallel::Range)>& work, parallel::Range chunk);
    [[nodiscard]] parallel::Range chunk(int index) const;

    const parallel::ProcessGrid& grid_;
    int modes_;
    int planes_; ///< of this rank
    int first_;  ///< this rank's first row
    int chunk_;
    int chunks_;
    std::vector<Lane> lanes_;
    parallel::AlignedArray<double> pivot_;
    parallel::Stopwatch& watch_;
    parallel::Traffic& traffic_;
};

} // namespace uzushio::linalg
