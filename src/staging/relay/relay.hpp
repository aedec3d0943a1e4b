#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/reader_options.hpp"

/// From one network to another: readers on the one, the writer on the other.
namespace uzushio::staging::relay {

struct RelayOptions {
    std::string from;          ///< contact file of the writer (or of a relay), or its "host:port"
    std::filesystem::path to;  ///< contact file to be written, for readers (or relays)
    std::string secret;        ///< of `from` as host:port, in hexadecimal
    bool tls = false;          ///< of `from` as host:port
    EngineOptions::Tcp listen; ///< where readers come to
    /// Held at most, whatever the size of steps: see Allowance.
    std::size_t bytes = std::size_t{64} << 20;
    bool once = false; ///< end with the writer, rather than wait for the next one
    std::chrono::nanoseconds wait = std::chrono::seconds(60); ///< for the writer, with `once`
};

/// What a relay does at the moment.
struct RelayStatus {
    std::string stream;          ///< of the last writer; empty: none was there yet
    std::size_t readers = 0;     ///< with a control connection; counted on rank 0
    std::size_t connections = 0; ///< those included
    std::uint64_t passed = 0;    ///< bytes towards readers since the start
    std::size_t held = 0;        ///< bytes, now
    std::size_t most_held = 0;   ///< bytes, so far
};

/// Passes a stream on from the network of its writer to that of its readers, **cut-through**: every
/// connection of a reader is joined to one of the relay's own to the writer, and bytes go on as
/// they come. Both sides prove themselves, each with the secret of its own contact file. Only the
/// message that says where the writer's ranks are is replaced, by places of the relay.
///
/// Either side may come and go: readers that come while no writer is there are kept waiting; when a
/// writer ends its readers are told, and the next one that writes the contact is found; when one
/// dies its readers lose their connections; when a reader dies its connections to the writer are
/// closed at once. Relays may follow each other.
///
/// A relay of several ranks is one MPI job, whose ranks must all see the contact file `from`. Rank
/// 0 takes the control connections, and the connections for rank w of the writer go through rank w
/// modulo the number of ranks. MPI is used when it starts and when it ends.
class Relay {
  public:
    /// Listen, and write the contact file; collective. `group` outlives the relay.
    Relay(RelayOptions options, const parallel::CollectiveGroup& group);
    ~Relay(); ///< cuts all connections, and removes the contact file

    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    /// Serve, in this thread, until `go_on`, which is asked about ten times a second, says no; or,
    /// if so configured, until the writer has ended; rank 0 throws PeerGone then if none came in
    /// time. What `go_on` throws, this throws. Collective, though every rank asks its own; when
    /// rank 0 ends, all do. Rank 0 tells when it waits for the writer (`notice`).
    void run(const std::function<bool()>& go_on);

    /// From `go_on`, or when `run` has returned.
    [[nodiscard]] RelayStatus status() const;

  private:
    class Core;
    std::unique_ptr<Core> core_;
};

} // namespace uzushio::staging::relay
