#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "staging/command.hpp"

namespace uzushio::staging {

/// Commands of readers for the program that writes, and its replies. No member waits; the program
/// may take the commands at any time. The memory is bounded. All members are thread-safe.
class CommandMailbox {
  public:
    static constexpr std::size_t max_commands = 64; ///< of one reader, without a sent reply

    /// Returns false if too many commands of the reader have no reply yet.
    [[nodiscard]] bool put(std::uint64_t reader, Command command);
    /// Remove a reader; its commands are discarded.
    void remove(std::uint64_t reader);
    /// Return the reader's next reply.
    [[nodiscard]] std::optional<Reply> next_reply(std::uint64_t reader);

    /// Return all commands since the last call, in the order of their arrival.
    [[nodiscard]] std::vector<ReceivedCommand> take();
    /// Reply to a command; without effect if the reader has detached.
    void reply(std::uint64_t reader, Reply reply);

  private:
    struct ReaderState {
        std::size_t unanswered = 0; ///< commands without a sent reply
        std::deque<Reply> replies;
    };

    std::mutex mutex_;
    std::vector<ReceivedCommand> received_;
    std::map<std::uint64_t, ReaderState> readers_; ///< those that have sent a command
};

} // namespace uzushio::staging
