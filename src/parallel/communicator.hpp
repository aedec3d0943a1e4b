#pragma once

#include <mpi.h>

#include <utility>

namespace uzushio::parallel {

/// Owns an MPI communicator: freed with the object, unless MPI is already finalized.
class Communicator {
  public:
    /// A duplicate of `comm`, so that our messages never meet the caller's.
    static Communicator duplicate(MPI_Comm comm) {
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Comm_dup(comm, &copy);
        return Communicator(copy);
    }

    /// The ranks of `comm` that give the same `colour`, in order of `key` (collective).
    static Communicator split(MPI_Comm comm, int colour, int key) {
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(comm, colour, key, &part);
        return Communicator(part);
    }

    /// Takes over a communicator that the caller has made.
    static Communicator adopt(MPI_Comm comm) { return Communicator(comm); }

    Communicator(Communicator&& other) noexcept
        : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), rank_(other.rank_), size_(other.size_) {
    }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    Communicator& operator=(Communicator&&) = delete;
    ~Communicator() {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (!finalized && comm_ != MPI_COMM_NULL)
            MPI_Comm_free(&comm_);
    }

    [[nodiscard]] MPI_Comm get() const { return comm_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

  private:
    explicit Communicator(MPI_Comm comm) : comm_(comm) {
        // Whatever the caller's communicator does: nobody looks at return codes in here.
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &size_);
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
};

} // namespace uzushio::parallel
