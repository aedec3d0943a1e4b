#pragma once

#include <mpi.h>

#include <utility>

namespace uzushio::parallel {

/// Return whether MPI is finalized: nothing can be freed any more.
[[nodiscard]] inline bool mpi_is_finalized() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    return finalized != 0;
}

/// Return whether MPI is initialized and not finalized.
[[nodiscard]] inline bool mpi_is_running() {
    int initialized = 0;
    MPI_Initialized(&initialized);
    return initialized != 0 && !mpi_is_finalized();
}

/// Owner of an MPI communicator, which is freed with the object unless MPI is already finalized.
class Communicator {
  public:
    /// Return a duplicate of `comm`, so that messages are never matched with the caller's.
    static Communicator duplicate(MPI_Comm comm) {
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Comm_dup(comm, &copy);
        return Communicator(copy);
    }

    /// Return the communicator of ranks with the same `colour`, in order of `key` (collective).
    static Communicator split(MPI_Comm comm, int colour, int key) {
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(comm, colour, key, &part);
        return Communicator(part);
    }

    /// Take ownership of a communicator.
    static Communicator adopt(MPI_Comm comm) { return Communicator(comm); }

    Communicator(Communicator&& other) noexcept
        : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), rank_(other.rank_), size_(other.size_) {
    }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    Communicator& operator=(Communicator&&) = delete;
    ~Communicator() {
        if (!mpi_is_finalized() && comm_ != MPI_COMM_NULL)
            MPI_Comm_free(&comm_);
    }

    [[nodiscard]] MPI_Comm get() const { return comm_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

  private:
    explicit Communicator(MPI_Comm comm) : comm_(comm) {
        // Independent of the caller's handler, because return codes are not checked.
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &size_);
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
};

} // namespace uzushio::parallel
