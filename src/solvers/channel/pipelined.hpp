#pragma once

#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "parallel/aligned_array.hpp"
#include "parallel/thread_records.hpp"
#include "solvers/channel/tridiagonal.hpp"

namespace uzushio::channel {

/// Sweeps of one thread of a rank over its chunks of modes. See `Pipelined`.
class ChunkSweeps {
  public:
    /// `chunks`: those of this thread; `thread`: its number, for the tags of its messages.
    ChunkSweeps(const TridiagonalSetup& setup, parallel::Range chunks, int thread,
                parallel::SectionMonitor& sections, parallel::Traffic& traffic);
    void solve(std::span<const SolveStage> stages);
    [[nodiscard]] std::size_t bytes() const;

    /// Maximum number of messages in flight of one sweep.
    static constexpr int max_in_flight = 4;

  private:
    /// Messages of one sweep, in a ring of buffers.
    struct SweepMessages {
        parallel::AlignedArray<double> outgoing, incoming; ///< [max_in_flight][values of a chunk]
        std::vector<MPI_Request> sends, receives;
        int values = 0; ///< for one mode
        int from = MPI_PROC_NULL;
        int to = MPI_PROC_NULL;
        int tag = 0;
    };

    void start(SweepMessages& messages, const SolveStage& stage, int sweep);
    void start_receive(SweepMessages& messages, int index);
    const double* wait_for_message(SweepMessages& messages, int index);
    double* wait_for_send_buffer(SweepMessages& messages, int index);
    void start_send(SweepMessages& messages, int index);

    void up(const SolveStage& stage, SweepMessages& messages, int index);
    void down(const SolveStage& stage, SweepMessages& messages, int index);
    void sweep_up(const System& system, parallel::Range chunk);
    void sweep_down(const System& system, parallel::Range chunk);
    /// Call `work`, which takes `flops` operations for one mode.
    void call(const std::function<void(parallel::Range)>& work, parallel::Range chunk,
              double flops);
    [[nodiscard]] parallel::Range chunk(int index) const;

    const ProcessGrid& grid_;
    int modes_;
    int planes_;      ///< of this rank
    int first_;       ///< this rank's first row
    int chunk_;       ///< modes of a chunk
    int first_chunk_; ///< of this thread
    int chunks_;      ///< of this thread
    int first_tag_;
    std::vector<SweepMessages> sweeps_;
    parallel::AlignedArray<double> pivot_;
    parallel::SectionMonitor& sections_;
    parallel::Traffic& traffic_;
};

/// Thomas's algorithm along z, distributed over ranks and pipelined over chunks of modes: a rank
/// works on one chunk while its neighbour works on the next. No transpose.
///
/// Each stage sweeps up and then down, and the sweeps of all stages overlap: sweep s of chunk c
/// runs on rank r in slot c + s (P - 1) + (r going up, P - 1 - r going down), one slot after the
/// neighbour whose result it needs. The pipeline fills once for all stages, and a chunk is still in
/// cache in its next sweep. With one rank, a chunk completes all sweeps before the next chunk
/// starts. Each thread has a part of the chunks and its own pipeline.
///
/// Source: Y. Yamamoto and Y. Tsuji, Phys. Rev. Fluids 3, 012602 (2018), and the pipelined
/// Thomas algorithm of A. Povitsky, Parallel Comput. 25 (1999).
class Pipelined final : public TridiagonalSolver {
  public:
    explicit Pipelined(const TridiagonalSetup& setup);
    void solve(std::span<const SolveStage> stages) override;
    [[nodiscard]] std::size_t bytes() const override;

    /// Return the number of modes in a chunk: its columns fit the cache, and with several ranks in
    /// z there are enough chunks to fill the pipeline.
    [[nodiscard]] static int chunk_size(int modes, int pz);
    /// Return the threads that have chunks.
    [[nodiscard]] static int parts(int modes, int pz, int threads);

  private:
    int threads_;
    parallel::ThreadRecords records_;
    std::deque<ChunkSweeps> sweeps_; ///< of the threads
};

} // namespace uzushio::channel
