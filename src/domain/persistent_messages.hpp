#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "parallel/aligned_array.hpp"
#include "parallel/backoff.hpp"
#include "parallel/communicator.hpp"
#include "parallel/wait_hook.hpp"

namespace uzushio::domain {

using parallel::exchange_limit;

/// Messages between ranks that every exchange repeats: persistent requests and their memory.
///
/// T: double or float.
template <class T> class PersistentMessages {
  public:
    /// `comm` must outlive the object.
    PersistentMessages(MPI_Comm comm, int tag) : comm_(comm), tag_(tag) {}
    PersistentMessages(const PersistentMessages&) = delete;
    PersistentMessages& operator=(const PersistentMessages&) = delete;
    /// After an exchange that an exception ended, messages may never be received: the memory of
    /// those that are being sent is kept until the process ends.
    ~PersistentMessages() {
        if (parallel::mpi_is_finalized())
            return;
        if (under_way_) {
            receives_.cancel();
            using Kept = std::vector<parallel::AlignedArray<T>>;
            static_cast<void>(std::make_unique<Kept>(std::move(sends_.buffers)).release());
        }
        for (Direction* direction : {&receives_, &sends_})
            for (MPI_Request& request : direction->requests)
                MPI_Request_free(&request);
    }

    /// Add a message of so many values from or to a rank. Throws `std::length_error` if it is too
    /// long for MPI.
    void add_receive(int rank, std::int64_t values) {
        T* const data = receives_.add(rank, values);
        MPI_Recv_init(data, static_cast<int>(values), type, rank, tag_, comm_,
                      &receives_.requests.back());
    }
    void add_send(int rank, std::int64_t values) {
        T* const data = sends_.add(rank, values);
        MPI_Send_init(data, static_cast<int>(values), type, rank, tag_, comm_,
                      &sends_.requests.back());
    }
    /// Number of messages that this rank sends, and the bytes in them.
    [[nodiscard]] std::int64_t sent() const { return sends_.count(); }
    [[nodiscard]] std::int64_t sent_bytes() const {
        std::int64_t bytes = 0;
        for (const auto& buffer : sends_.buffers)
            bytes += static_cast<std::int64_t>(buffer.bytes());
        return bytes;
    }

    /// Begin an exchange: start the receives, and send each message after `pack(number, values)`.
    /// Messages are numbered in the order in which they were added.
    template <class Pack> void begin(Pack&& pack) {
        under_way_ = true;
        if (!receives_.requests.empty())
            MPI_Startall(receives_.count(), receives_.requests.data());
        for (std::size_t m = 0; m < sends_.requests.size(); ++m) {
            pack(m, sends_.buffers[m].data());
            MPI_Start(&sends_.requests[m]);
        }
    }
    /// Complete the exchange: call `unpack(number, values)` for each message as it arrives. Throws
    /// `std::runtime_error` with the ranks that did not answer after `limit`; no exchange can
    /// begin then.
    template <class Unpack> void end(std::chrono::nanoseconds limit, Unpack&& unpack) {
        receives_.complete(
            limit, [&](std::size_t m) { unpack(m, std::as_const(receives_.buffers[m]).data()); });
        sends_.complete(limit, [](std::size_t) {});
        under_way_ = false;
    }

  private:
    static_assert(std::is_same_v<T, double> || std::is_same_v<T, float>);
    const MPI_Datatype type = std::is_same_v<T, double> ? MPI_DOUBLE : MPI_FLOAT;

    struct Direction {
        std::vector<MPI_Request> requests;
        std::vector<int> ranks;
        std::vector<parallel::AlignedArray<T>> buffers;

        [[nodiscard]] int count() const { return static_cast<int>(requests.size()); }
        T* add(int rank, std::int64_t values) {
            if (values > std::numeric_limits<int>::max())
                throw std::length_error("a message of " + std::to_string(values) +
                                        " values between two ranks is too long for MPI: use more "
                                        "blocks or ranks");
            requests.push_back(MPI_REQUEST_NULL);
            ranks.push_back(rank);
            return buffers.emplace_back(static_cast<std::size_t>(values)).data();
        }
        template <class Completed>
        void complete(std::chrono::nanoseconds limit, Completed&& completed) {
            const auto deadline = std::chrono::steady_clock::now() + limit;
            parallel::Backoff backoff;
            parallel::WaitHookTimer hooks;
            for (std::size_t left = requests.size(); left > 0;) {
                int which = 0, done = 0;
                MPI_Testany(count(), requests.data(), &which, &done, MPI_STATUS_IGNORE);
                if (done != 0 && which == MPI_UNDEFINED)
                    return; // SimGrid completes short sends when they start
                if (done != 0) {
                    --left;
                    completed(static_cast<std::size_t>(which));
                    backoff = {};
                    continue;
                }
                if (std::chrono::steady_clock::now() > deadline)
                    throw std::runtime_error(unanswered());
                hooks.poll();
                backoff.pause();
            }
        }
        [[nodiscard]] std::string unanswered() const {
            std::string missing;
            for (std::size_t r = 0; r < requests.size(); ++r) {
                int done = 0;
                MPI_Request_get_status(requests[r], &done, MPI_STATUS_IGNORE);
                if (done == 0)
                    missing.append(missing.empty() ? "" : ", ").append(std::to_string(ranks[r]));
            }
            return "an exchange between blocks timed out: no answer from rank " + missing +
                   "; look for the message of that rank, which may have stopped or be in other "
                   "work";
        }
        /// Cancel started receives whose messages may never arrive.
        void cancel() {
            for (MPI_Request& request : requests) {
                MPI_Cancel(&request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        }
    };

    MPI_Comm comm_;
    int tag_;
    Direction receives_, sends_;
    bool under_way_ = false;
};

} // namespace uzushio::domain
