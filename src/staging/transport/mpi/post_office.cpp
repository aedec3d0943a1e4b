#include "staging/transport/mpi/post_office.hpp"

#include <algorithm>
#include <utility>

#include "staging/transport/mpi/tags.hpp"
#include "staging/wire/decode_error.hpp"

namespace uzushio::staging::mpi {

PostOffice& PostOffice::of_process() {
    static PostOffice office; // as global as the MPI_COMM_WORLD that it stands for
    return office;
}

PostOffice::PostOffice() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

void PostOffice::send(int world_rank, Letter letter) {
    letter.from = rank_;
    auto bytes = encode(letter);
    const std::lock_guard lock(mutex_);
    outgoing_.send(MPI_COMM_WORLD, world_rank, letter_tag, std::move(bytes));
    outgoing_.sweep();
}

std::optional<Letter> PostOffice::take(const std::function<bool(const Letter&)>& mine) {
    const std::lock_guard lock(mutex_);
    outgoing_.sweep();
    for (Received message; receive(MPI_COMM_WORLD, MPI_ANY_SOURCE, letter_tag, message);) {
        try {
            waiting_.push_back(decode_letter(message.bytes));
        } catch (const DecodeError&) {
            continue; // somebody else's message with our tag
        }
        if (waiting_.size() > most_waiting)
            waiting_.pop_front();
    }
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), mine);
    if (found == waiting_.end())
        return {};
    Letter letter = std::move(*found);
    waiting_.erase(found);
    return letter;
}

} // namespace uzushio::staging::mpi
