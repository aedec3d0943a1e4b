#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "staging/queue/queue_options.hpp"
#include "staging/wire/mpi_mode.hpp"

namespace YAML {
class Node;
}

namespace uzushio::staging {

/// What a writer does after a failure of its stream.
enum class OnError : std::uint8_t {
    warn, ///< a notice on rank 0, once; the program continues without the stream
    fail, ///< throw
};

/// Engine of a stream and its options, from a YAML file or a section of a case file.
struct EngineOptions {
    std::string engine = "shm"; ///< a name of engines.hpp
    QueueOptions queue;         ///< bytes: on the rank with the most

    /// Written at opening, removed at closing, readable by this user only. Empty: "<name>.contact".
    std::filesystem::path contact;
    /// Empty: `warn` for options of a file (choose_options), else `fail`.
    std::optional<OnError> on_error;
    /// Work of engine inproc inside each step, for programs without Python.
    struct InSitu {
        std::filesystem::path pipeline; ///< file of a pipeline; empty: none
        std::filesystem::path python;   ///< file with a function on_step(step); empty: none
        std::filesystem::path output; ///< folder of the pipeline's results; empty: "<name>-output"
    } in_situ;
    std::size_t wait_for_readers = 0; ///< before the first step
    std::chrono::nanoseconds wait_limit = std::chrono::seconds(60);
    /// Maximum wait of `close` for readers to release the published steps.
    std::chrono::nanoseconds close_limit = std::chrono::seconds(30);
    bool checksums =
        false; ///< of every array, for readers to verify; costs another read of all values

    struct Tcp {                          ///< also for shm: relays and readers on other nodes
        std::string listen = "127.0.0.1"; ///< address to listen on; 0.0.0.0 or :: for all
        std::uint16_t port = 0; ///< of rank 0; other ranks use the next ones; 0: any free port
        std::string advertise;  ///< host name for readers; empty: `listen`, or the host
        bool tls = false;       ///< TLS 1.3, keyed by the contact file's secret
    } tcp;

    struct Mpi {
        MpiMode mode =
            MpiMode::two_sided; ///< fastest within a node, with the fewest requirements on MPI
    } mpi;

    struct File {
        std::filesystem::path folder; ///< of the Zarr store; empty: "<name>.zarr"
        bool overwrite = false;
        bool sync = true; ///< flush a step to the disk before it is published
    } file;

    struct Adios2 { ///< the engine itself is in Python
        std::string kind = "sst";
        std::map<std::string, std::string> parameters;
    } adios2;
};

/// Parse options. Throws StagingError with the key, the value and the allowed values. `where` is
/// the file's name, for messages.
[[nodiscard]] EngineOptions parse_options(const YAML::Node& options, const std::string& where);
[[nodiscard]] EngineOptions parse_options(std::string_view yaml, const std::string& where);
[[nodiscard]] EngineOptions read_options(const std::filesystem::path& file);

} // namespace uzushio::staging
