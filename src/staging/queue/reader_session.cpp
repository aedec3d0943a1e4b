#include "staging/queue/reader_session.hpp"

#include "staging/sentence.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging {

ReaderSession::ReaderSession(Queue& queue) : reader_(queue.attach()) {}

std::optional<Error> ReaderSession::receive(const Message& message) {
    if (const auto* next = std::get_if<Next>(&message)) {
        reader_.set_latest_only(next->latest_only);
        waiting_ = true;
        return {};
    }
    if (const auto* release = std::get_if<Release>(&message)) {
        if (reader_.release(release->sequence)) {
            holds_ = false;
            return {};
        }
        finished_ = true;
        return Error{ErrorCode::protocol,
                     sentence("Step ", release->sequence,
                              " was released, but this reader does not have it.")};
    }
    const auto* command = std::get_if<Command>(&message);
    if (command != nullptr && reader_.send(*command))
        return {};
    finished_ = true;
    if (command != nullptr)
        return Error{ErrorCode::limit,
                     sentence("This reader sent more than ", CommandMailbox::max_commands,
                              " commands before it read the replies.")};
    if (std::holds_alternative<Detach>(message)) {
        reader_.detach();
        return {};
    }
    return Error{
        ErrorCode::protocol,
        "A reader that has attached may only ask for the next step, release, send commands or "
        "detach."};
}

std::shared_ptr<const std::vector<std::byte>> ReaderSession::poll() {
    if (finished_)
        return nullptr;
    if (const auto reply = reader_.next_reply())
        return std::make_shared<const std::vector<std::byte>>(encode(*reply));
    if (!waiting_ || holds_)
        return nullptr;
    const Delivery delivery = reader_.next(std::chrono::nanoseconds(0));
    switch (delivery.status) {
    case StepStatus::step:
        waiting_ = false;
        holds_ = true;
        ++steps_;
        return std::static_pointer_cast<const EncodedAnnounce>(delivery.payload);
    case StepStatus::ended:
        return end();
    case StepStatus::timeout:
        return nullptr;
    case StepStatus::detached:
        finished_ = true;
        return nullptr;
    }
    return nullptr;
}

std::shared_ptr<const std::vector<std::byte>> ReaderSession::end() {
    if (finished_)
        return nullptr;
    finished_ = true;
    return std::make_shared<const std::vector<std::byte>>(encode(End{steps_}));
}

} // namespace uzushio::staging
