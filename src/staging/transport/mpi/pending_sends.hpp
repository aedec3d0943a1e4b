#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace uzushio::staging::mpi {

using Bytes = std::shared_ptr<const std::vector<std::byte>>;

/// Keep a request whose peer may never match it, with the memory that MPI may use until then, to
/// the end of the process. For owners that are destroyed with operations in flight.
void abandon(MPI_Request request, std::shared_ptr<const void> memory);

/// Small messages in flight, with their bytes. One thread at a time.
class PendingSends {
  public:
    PendingSends() = default;
    PendingSends(const PendingSends&) = delete;
    PendingSends& operator=(const PendingSends&) = delete;
    ~PendingSends(); ///< abandons incomplete sends

    void send(MPI_Comm comm, int to, int tag, Bytes bytes);
    void send(MPI_Comm comm, int to, int tag, std::vector<std::byte> bytes) {
        send(comm, to, tag, std::make_shared<const std::vector<std::byte>>(std::move(bytes)));
    }
    /// Remove completed sends. Return whether none is left.
    bool test_all();

  private:
    struct Sending {
        MPI_Request request = MPI_REQUEST_NULL;
        Bytes bytes;
    };
    std::vector<Sending> sending_;
};

/// Receive the next message from `from` (or MPI_ANY_SOURCE) with this tag, if there is one.
struct ReceivedBytes {
    int from = MPI_ANY_SOURCE;
    std::vector<std::byte> bytes;
};
[[nodiscard]] bool receive(MPI_Comm comm, int from, int tag, ReceivedBytes& message);

} // namespace uzushio::staging::mpi
