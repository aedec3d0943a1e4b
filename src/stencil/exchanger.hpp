#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "parallel/communicator.hpp"
#include "stencil/levels.hpp"
#include "stencil/plan.hpp"

namespace uzushio::stencil {

/// Carries out exchanges, one at a time, while its owner computes. Keeps its memory between them.
class Exchanger {
  public:
    explicit Exchanger(const parallel::Communicator& comm) : comm_(comm) {}
    Exchanger(const Exchanger&) = delete;
    Exchanger& operator=(const Exchanger&) = delete;

    /// Begin `exchange`, which has to live on until `finish`. What this rank knows by itself is
    /// read at once, so those points may be computed anew meanwhile. Level 0 of the plan is in
    /// buffer `first`.
    void start(const Exchange& exchange, Levels& levels, int first);

    /// Push it on without waiting; what has arrived is written. By the thread that called `start`.
    void progress();

    /// Wait for all of it.
    void finish();

    [[nodiscard]] std::size_t bytes() const;

  private:
    /// One message's memory.
    struct Letter {
        const Message* message = nullptr;
        std::vector<double> values;
    };

    void begin_stage();
    void end_stage();
    [[nodiscard]] bool open() const { return exchange_ != nullptr; }
    void pack(Letter& letter, bool passed_on);
    void unpack(const Letter& letter);
    Letter& letter(std::vector<Letter>& all, std::size_t index, const Message& message);

    const parallel::Communicator& comm_;
    const Exchange* exchange_ = nullptr; ///< under way
    Levels* levels_ = nullptr;
    int first_ = 0;
    std::size_t stage_ = 0;
    std::size_t sent_ = 0; ///< letters of earlier stages
    std::vector<Letter> out_;
    std::vector<Letter> in_;
    std::vector<MPI_Request> requests_;
};

} // namespace uzushio::stencil
