#pragma once

#include <mpi.h>

#include <vector>

namespace uzushio::compositing {

/// Messages in flight, any of which may complete next. The memory of the messages is not owned.
/// Nothing is allocated up to the reserved number.
class PendingMessages {
  public:
    /// Picture, stage and message that a completed message belongs to.
    struct CompletionTarget {
        int frame = 0;    ///< slot of the picture
        int stage = -1;   ///< -1: a message that was sent
        int message = -1; ///< of the stage; the destination if it was sent
    };

    void reserve(std::size_t messages);

    void send(const void* data, std::size_t bytes, int to, int tag, MPI_Comm comm, int frame);
    void receive(void* data, std::size_t max_bytes, int from, int tag, MPI_Comm comm,
                 CompletionTarget target);

    [[nodiscard]] bool empty() const { return pending_ == 0; }

    /// Call `done(target, bytes)` for every message that has completed; with `wait`, for at least
    /// one. Return whether there was any. `done` may send, but may not call `progress`.
    template <class Done> bool progress(bool wait, Done&& done) {
        const int count = complete(wait);
        for (int i = 0; i < count; ++i) {
            const auto which = static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]);
            int bytes = 0;
            const CompletionTarget target = targets_[which];
            if (target.stage >= 0)
                MPI_Get_count(&statuses_[static_cast<std::size_t>(i)], MPI_BYTE, &bytes);
            --pending_;
            done(target, static_cast<std::size_t>(bytes));
        }
        return count > 0;
    }

    /// Call `visit(target)` for every message that has not completed.
    template <class Visit> void for_each_pending(Visit&& visit) const {
        for (std::size_t i = 0; i < requests_.size(); ++i)
            if (requests_[i] != MPI_REQUEST_NULL)
                visit(targets_[i]);
    }

  private:
    int complete(bool wait);
    MPI_Request* add(CompletionTarget target);

    std::vector<MPI_Request> requests_;
    std::vector<CompletionTarget> targets_;
    std::vector<int> completed_;
    std::vector<MPI_Status> statuses_;
    int pending_ = 0;
};

} // namespace uzushio::compositing
