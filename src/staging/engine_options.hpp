#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "staging/queue/queue_options.hpp"

namespace uzushio::staging {

/// How the `mpi` engine moves data (the second source in docs/theory/staging.md).
enum class MpiMode : std::uint8_t {
    two_sided, ///< writers send, readers receive
    push,      ///< writers put into the readers' memory
    pull,      ///< readers get from the writers' memory
};

/// Which engine carries a stream, and how: what a YAML file or a section of a case file says, so
/// that a code is instrumented once and switched without compiling.
struct EngineOptions {
    std::string engine = "shm"; ///< a name of engines.hpp
    QueueOptions queue;         ///< bytes are of the rank that has most

    /// Written at opening, removed at closing, readable by this user alone. Empty:
    /// "<name>.contact".
    std::filesystem::path contact;
    std::size_t wait_for_readers = 0; ///< before the first step
    std::chrono::nanoseconds wait_limit = std::chrono::seconds(60);
    /// How long `close` waits for readers to take and release what was published for them.
    std::chrono::nanoseconds close_limit = std::chrono::seconds(30);
    bool checksums =
        false; ///< of every array, which readers may verify; reads everything once more

    struct Tcp { ///< shm listens so too, for relays and for readers on other nodes
        std::string listen = "127.0.0.1"; ///< address to listen on; 0.0.0.0 or :: for all
        std::uint16_t port = 0; ///< of rank 0, the next ones after it; 0: any that is free
        std::string advertise;  ///< name that readers are told; empty: `listen`, or the host
        bool tls = false;       ///< TLS 1.3, keyed by the contact file's secret
    } tcp;

    struct Mpi {
        MpiMode mode = MpiMode::two_sided; ///< the fastest within a node, and needs least of MPI
    } mpi;

    struct File {
        std::filesystem::path folder; ///< of the Zarr store; empty: "<name>.zarr"
        bool overwrite = false;
        bool sync = true; ///< a step is on the disk before it counts, not in the system's memory
    } file;
};

/// From YAML. Throws StagingError that names the key, the value, and what is allowed. `where` is
/// the file's name, for messages.
[[nodiscard]] EngineOptions parse_options(std::string_view yaml, const std::string& where);
[[nodiscard]] EngineOptions read_options(const std::filesystem::path& file);

} // namespace uzushio::staging
