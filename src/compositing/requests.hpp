#pragma once

#include <mpi.h>

#include <vector>

namespace uzushio::compositing {

/// Messages under way, for whoever waits for any of them. Holds no memory of the messages; nothing
/// is allocated once there has been room for as many.
class Requests {
  public:
    /// To whom the end of a message matters.
    struct Purpose {
        int frame = 0;
        int stage = -1;   ///< -1: a message that was sent
        int message = -1; ///< of the stage; to whom it went, if it was sent
    };

    /// Make room for so many messages at a time.
    void reserve(std::size_t messages);

    void send(const void* data, std::size_t bytes, int to, int tag, MPI_Comm comm, int frame);
    void receive(void* data, std::size_t most, int from, int tag, MPI_Comm comm, Purpose purpose);

    [[nodiscard]] bool empty() const { return open_ == 0; }

    /// `done(purpose, bytes)` for every message that has ended since; with `wait`, for one at
    /// least. Tells whether there was any. May be called from within `done`'s caller only, but
    /// `done` may send.
    template <class Done> bool progress(bool wait, Done&& done) {
        const int count = some(wait);
        for (int i = 0; i < count; ++i) {
            const auto which = static_cast<std::size_t>(ended_[static_cast<std::size_t>(i)]);
            int bytes = 0;
            const Purpose purpose = purposes_[which];
            if (purpose.stage >= 0)
                MPI_Get_count(&statuses_[static_cast<std::size_t>(i)], MPI_BYTE, &bytes);
            --open_;
            done(purpose, static_cast<std::size_t>(bytes));
        }
        return count > 0;
    }

    /// `visit(purpose)` for every message that has not ended.
    template <class Visit> void each_open(Visit&& visit) const {
        for (std::size_t i = 0; i < requests_.size(); ++i)
            if (requests_[i] != MPI_REQUEST_NULL)
                visit(purposes_[i]);
    }

  private:
    int some(bool wait);
    MPI_Request* place(Purpose purpose);

    std::vector<MPI_Request> requests_;
    std::vector<Purpose> purposes_;
    std::vector<int> ended_;
    std::vector<MPI_Status> statuses_;
    int open_ = 0;
};

} // namespace uzushio::compositing
