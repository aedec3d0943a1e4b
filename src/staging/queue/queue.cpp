#include "staging/queue/queue.hpp"

#include <utility>

#include "staging/queue/queue_state.hpp"

namespace uzushio::staging {

Queue::Queue(const QueueOptions& options) : state_(std::make_shared<QueueState>(options)) {}

Queue::~Queue() { close(); }

std::optional<std::uint64_t> Queue::publish(std::shared_ptr<void> payload, std::size_t bytes) {
    if (!state_->reserve(bytes))
        return std::nullopt;
    return commit(std::move(payload), bytes);
}

bool Queue::reserve(std::size_t bytes) { return state_->reserve(bytes); }

std::uint64_t Queue::commit(std::shared_ptr<void> payload, std::size_t bytes) {
    const std::uint64_t sequence = state_->commit(std::move(payload), bytes);
    state_->tell();
    return sequence;
}

void Queue::cancel(std::size_t bytes) { state_->cancel(bytes); }

void Queue::close() {
    state_->close();
    state_->tell();
}

bool Queue::drain(std::chrono::nanoseconds limit) { return state_->drain(limit); }

bool Queue::wait_for_readers(std::size_t readers, std::chrono::nanoseconds limit) {
    return state_->wait_for_readers(readers, limit);
}

void Queue::on_news(std::function<void()> tell) { state_->on_news(std::move(tell)); }

std::vector<std::uint64_t> Queue::sequences() const { return state_->sequences(); }

std::size_t Queue::most_steps() const { return state_->most_steps(); }

QueueReader Queue::attach() { return {state_, state_->attach()}; }

std::size_t Queue::readers() const { return state_->readers(); }

QueueCounters Queue::counters() const { return state_->counters(); }

} // namespace uzushio::staging
