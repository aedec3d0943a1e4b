#include "staging/transport/mpi/message_dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "staging/transport/mpi/tags.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {

MessageDispatcher::MessageDispatcher() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

void MessageDispatcher::send(int world_rank, ConnectMessage message) {
    message.from = rank_;
    auto bytes = encode(message);
    const std::lock_guard lock(mutex_);
    sends_.send(MPI_COMM_WORLD, world_rank, connect_tag, std::move(bytes));
    sends_.test_all();
}

std::optional<ConnectMessage>
MessageDispatcher::take(const std::function<bool(const ConnectMessage&)>& matches) {
    const std::lock_guard lock(mutex_);
    sends_.test_all();
    for (ReceivedBytes message; receive(MPI_COMM_WORLD, MPI_ANY_SOURCE, connect_tag, message);) {
        try {
            waiting_.push_back(decode_as<ConnectMessage>(message.bytes));
        } catch (const DecodeError&) {
            continue; // a message of other software with our tag
        }
        if (waiting_.size() > max_waiting)
            waiting_.pop_front();
    }
    const auto match = std::find_if(waiting_.begin(), waiting_.end(), matches);
    if (match == waiting_.end())
        return {};
    ConnectMessage message = std::move(*match);
    waiting_.erase(match);
    return message;
}

} // namespace uzushio::staging::mpi
