#pragma once

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "parallel/backoff.hpp"
#include "parallel/communicator.hpp"
#include "staging/stream_group.hpp"

namespace uzushio::staging::suite {

inline int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
inline int world_size() {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/// Temporary folder of this job for contact files and stores, the same on all ranks. Construction
/// and destruction are collective.
class Folder {
  public:
    Folder() {
        const parallel::CollectiveGroup all = stream_group(MPI_COMM_WORLD);
        std::vector<std::byte> name;
        if (all.rank() == 0) {
            std::string path =
                (std::filesystem::temp_directory_path() / "uzushio-staging-XXXXXX").string();
            if (mkdtemp(path.data()) == nullptr)
                throw std::runtime_error("No folder can be made for the test.");
            const auto bytes = std::as_bytes(std::span(path));
            name.assign(bytes.begin(), bytes.end());
        }
        name = all.broadcast(std::move(name));
        path_ = std::string(reinterpret_cast<const char*>(name.data()), name.size());
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        const parallel::CollectiveGroup all = stream_group(MPI_COMM_WORLD);
        all.barrier();
        std::error_code ignored;
        if (all.rank() == 0)
            std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

/// Ranks of the writers or of the readers: a part of the job, or one thread of its only process.
struct Side {
    MPI_Comm comm = MPI_COMM_NULL; ///< for Writer and Reader
    int rank = 0;
    int ranks = 1;
};

/// Signal from the readers to the writers during the run. Construction is collective.
class Signal {
  public:
    Signal() : comm_(parallel::Communicator::duplicate(MPI_COMM_WORLD)) {}
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;
    ~Signal() { // writers must not wait for a reader that failed before send()
        if (comm_.size() > 1 && !sent_ && !posted_)
            send();
        parallel::blocking_wait(requests_);
    }

    /// Send the signal; every reader calls it once. The message is small, so that it arrives even
    /// if its sender then waits outside of MPI.
    void send() {
        sent_ = true;
        if (comm_.size() > 1)
            MPI_Isend(nullptr, 0, MPI_BYTE, 0, 0, comm_.get(), &requests_.emplace_back());
    }
    /// Return whether all readers have sent it. Collective over `writers`.
    [[nodiscard]] bool received(const parallel::CollectiveGroup& writers) {
        if (comm_.size() == 1)
            return sent_;
        if (!posted_ && comm_.rank() == 0)
            for (int reader = writers.size(); reader < comm_.size(); ++reader)
                MPI_Irecv(nullptr, 0, MPI_BYTE, reader, 0, comm_.get(), &requests_.emplace_back());
        posted_ = true;
        int done = 0;
        MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                    MPI_STATUSES_IGNORE);
        return !writers.any(done == 0);
    }

  private:
    parallel::Communicator comm_;
    std::atomic<bool> sent_ = false;
    bool posted_ = false;
    std::vector<MPI_Request> requests_;
};

/// Run writers or readers; an exception becomes a failure of the test.
inline void guarded(const char* who, const std::function<void()>& work) {
    try {
        work();
    } catch (const std::exception& error) {
        ADD_FAILURE() << "The " << who << " failed: " << error.what();
    }
}

/// Run writers and readers concurrently: the first `writers` ranks of the job write and the others
/// read. A job of one rank does both, in two threads.
inline void run_both(int writers, const std::function<void(const Side&)>& write,
                     const std::function<void(const Side&)>& read) {
    const parallel::CollectiveGroup all = stream_group(MPI_COMM_WORLD);
    if (all.size() == 1) {
        std::thread reader([&] { guarded("reader", [&] { read({}); }); });
        guarded("writer", [&] { write({}); });
        reader.join();
        return;
    }
    const bool writes = all.rank() < writers;
    const auto comm = parallel::Communicator::split(MPI_COMM_WORLD, writes ? 0 : 1, all.rank());
    const Side side{comm.get(), comm.rank(), comm.size()};
    if (writes)
        guarded("writer", [&] { write(side); });
    else
        guarded("reader", [&] { read(side); });
    all.barrier();
}

} // namespace uzushio::staging::suite
