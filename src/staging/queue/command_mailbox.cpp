#include "staging/queue/command_mailbox.hpp"

#include <utility>

namespace uzushio::staging {

bool CommandMailbox::put(std::uint64_t reader, Command command) {
    const std::lock_guard lock(mutex_);
    ReaderState& state = readers_[reader];
    if (state.unanswered == max_commands)
        return false;
    ++state.unanswered;
    received_.push_back({reader, std::move(command), false});
    return true;
}

void CommandMailbox::remove(std::uint64_t reader) {
    const std::lock_guard lock(mutex_);
    if (readers_.erase(reader) == 0)
        return;
    std::erase_if(received_,
                  [&](const ReceivedCommand& command) { return command.reader == reader; });
    received_.push_back({reader, {}, true});
}

std::optional<Reply> CommandMailbox::next_reply(std::uint64_t reader) {
    const std::lock_guard lock(mutex_);
    const auto state = readers_.find(reader);
    if (state == readers_.end() || state->second.replies.empty())
        return std::nullopt;
    Reply reply = std::move(state->second.replies.front());
    state->second.replies.pop_front();
    --state->second.unanswered;
    return reply;
}

std::vector<ReceivedCommand> CommandMailbox::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(received_, {});
}

void CommandMailbox::reply(std::uint64_t reader, Reply reply) {
    const std::lock_guard lock(mutex_);
    const auto state = readers_.find(reader);
    if (state != readers_.end() && state->second.replies.size() < state->second.unanswered)
        state->second.replies.push_back(std::move(reply));
}

} // namespace uzushio::staging
