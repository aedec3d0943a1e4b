#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "parallel/communicator.hpp"
#include "stencil/double_buffer.hpp"
#include "stencil/sweep_plan.hpp"

namespace uzushio::stencil {

/// Executor of exchanges, one at a time, overlapped with the caller's computation. Message buffers
/// are reused.
class Exchanger {
  public:
    explicit Exchanger(const parallel::Communicator& comm) : comm_(comm) {}
    Exchanger(const Exchanger&) = delete;
    Exchanger& operator=(const Exchanger&) = delete;

    /// Begin `exchange`, which must outlive it (until `finish`). Values that are not forwarded are
    /// copied at once, so the caller may overwrite them. Level 0 of the plan is in buffer `first`.
    void start(const ExchangePlan& exchange, DoubleBuffer& buffers, int first);

    /// Test for completion and unpack a complete stage. Call from the thread that called `start`.
    void progress();

    /// Wait until the exchange is complete.
    void finish();

    [[nodiscard]] std::size_t bytes() const;

  private:
    struct MessageBuffer {
        const MessagePlan* message = nullptr;
        std::vector<double> values;
    };

    void begin_stage();
    void end_stage();
    [[nodiscard]] bool in_progress() const { return exchange_ != nullptr; }
    void pack(MessageBuffer& buffer, bool forwarded);
    void unpack(const MessageBuffer& buffer);
    MessageBuffer& buffer_of(std::vector<MessageBuffer>& all, std::size_t index,
                             const MessagePlan& message);

    const parallel::Communicator& comm_;
    const ExchangePlan* exchange_ = nullptr; ///< in progress
    DoubleBuffer* buffers_ = nullptr;
    int first_ = 0;
    std::size_t stage_ = 0;
    std::size_t sent_ = 0; ///< messages of earlier stages
    std::vector<MessageBuffer> out_;
    std::vector<MessageBuffer> in_;
    std::vector<MPI_Request> requests_;
};

} // namespace uzushio::stencil
