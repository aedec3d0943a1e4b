#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace uzushio::staging::mpi {

using Bytes = std::shared_ptr<const std::vector<std::byte>>;

/// A request whose other side may never come, with the memory that MPI may use until it does: it
/// is kept to the end of the process. For those that leave while something is under way.
void abandon(MPI_Request request, std::shared_ptr<const void> memory);

/// Small messages on their way, with their bytes. One thread at a time.
class Outgoing {
  public:
    Outgoing() = default;
    Outgoing(const Outgoing&) = delete;
    Outgoing& operator=(const Outgoing&) = delete;
    ~Outgoing(); ///< abandons what is not through

    void send(MPI_Comm comm, int to, int tag, Bytes bytes);
    void send(MPI_Comm comm, int to, int tag, std::vector<std::byte> bytes) {
        send(comm, to, tag, std::make_shared<const std::vector<std::byte>>(std::move(bytes)));
    }
    /// Let go of what is through. Returns whether nothing is left.
    bool sweep();

  private:
    struct Sending {
        MPI_Request request = MPI_REQUEST_NULL;
        Bytes bytes;
    };
    std::vector<Sending> sending_;
};

/// The next message from `from` (or MPI_ANY_SOURCE) with this tag, if one is there.
struct Received {
    int from = MPI_ANY_SOURCE;
    std::vector<std::byte> bytes;
};
[[nodiscard]] bool receive(MPI_Comm comm, int from, int tag, Received& message);

} // namespace uzushio::staging::mpi
