#include "staging/queue/queue_reader.hpp"

#include <utility>

#include "staging/queue/queue.hpp"

namespace uzushio::staging {

QueueReader::QueueReader(std::shared_ptr<Queue> queue, std::uint64_t id)
    : queue_(std::move(queue)), id_(id) {}

QueueReader::QueueReader(QueueReader&& other) noexcept
    : queue_(std::exchange(other.queue_, nullptr)), id_(other.id_) {}

QueueReader& QueueReader::operator=(QueueReader&& other) noexcept {
    QueueReader old(std::exchange(queue_, std::exchange(other.queue_, nullptr)), id_);
    id_ = other.id_;
    return *this;
}

QueueReader::~QueueReader() {
    if (queue_)
        queue_->remove_reader(id_);
}

Delivery QueueReader::next(std::chrono::nanoseconds limit) {
    return queue_ ? queue_->next(id_, limit) : Delivery{StepStatus::detached, 0, 0, nullptr};
}

void QueueReader::set_latest_only(bool latest_only) {
    if (queue_)
        queue_->set_latest_only(id_, latest_only);
}

bool QueueReader::release(std::uint64_t sequence) {
    return queue_ && queue_->release(id_, sequence);
}

void QueueReader::detach() {
    if (queue_)
        queue_->detach(id_);
}

bool QueueReader::send(Command command) {
    return queue_ && queue_->commands_.put(id_, std::move(command));
}

std::optional<Reply> QueueReader::next_reply() {
    return queue_ ? queue_->commands_.next_reply(id_) : std::nullopt;
}

std::uint64_t QueueReader::delivered() const {
    return queue_ ? queue_->state_of(id_).delivered : 0;
}

std::uint64_t QueueReader::missed() const { return queue_ ? queue_->state_of(id_).missed : 0; }

bool QueueReader::stalled() const { return queue_ && queue_->state_of(id_).stalled; }

} // namespace uzushio::staging
