#include "staging/queue/queue_reader.hpp"

#include <utility>

#include "staging/queue/queue_state.hpp"

namespace uzushio::staging {

QueueReader::QueueReader(std::shared_ptr<QueueState> state, std::uint64_t id)
    : state_(std::move(state)), id_(id) {}

QueueReader::QueueReader(QueueReader&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)), id_(other.id_) {}

QueueReader& QueueReader::operator=(QueueReader&& other) noexcept {
    QueueReader old(std::exchange(state_, std::exchange(other.state_, nullptr)), id_);
    id_ = other.id_;
    return *this;
}

QueueReader::~QueueReader() {
    if (state_)
        state_->forget(id_);
}

Delivery QueueReader::next(std::chrono::nanoseconds limit) {
    return state_ ? state_->next(id_, limit) : Delivery{Arrival::detached, 0, 0, nullptr};
}

bool QueueReader::release(std::uint64_t sequence) {
    return state_ && state_->release(id_, sequence);
}

void QueueReader::detach() {
    if (state_)
        state_->detach(id_);
}

std::uint64_t QueueReader::delivered() const { return state_ ? state_->delivered(id_) : 0; }

std::uint64_t QueueReader::missed() const { return state_ ? state_->missed(id_) : 0; }

bool QueueReader::stalled() const { return state_ && state_->stalled(id_); }

} // namespace uzushio::staging
