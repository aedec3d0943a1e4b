#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace uzushio::staging {

/// Text of a reader for the program that writes the stream, such as a change of a parameter.
struct Command {
    static constexpr std::size_t max_text = 2000; ///< bytes
    std::uint64_t number = 0;                     ///< counts the reader's commands
    std::string text;
    bool operator==(const Command&) const = default;
};

/// The writing program's answer to a Command.
struct Reply {
    static constexpr std::size_t max_text = 60'000; ///< bytes
    std::uint64_t number = 0;                       ///< of the command
    std::string text;
    bool operator==(const Reply&) const = default;
};

/// Command of a reader, at the writer.
struct ReceivedCommand {
    std::uint64_t reader = 0; ///< number of the reader
    Command command;
    bool left = false; ///< no command: a reader that sent commands has detached
};

} // namespace uzushio::staging
