#include "staging/queue/queue_reader.hpp"

#include <utility>

#include "staging/queue/queue.hpp"

namespace uzushio::staging {

void QueueReader::Detacher::operator()(Queue* queue) const { queue->remove_reader(id); }

QueueReader::QueueReader(std::shared_ptr<Queue> queue, std::uint64_t id)
    : queue_(queue.get(), Detacher{queue, id}) {}

Delivery QueueReader::next(std::chrono::nanoseconds limit) { return queue_->next(id(), limit); }

void QueueReader::set_latest_only(bool latest_only) { queue_->set_latest_only(id(), latest_only); }

bool QueueReader::release(std::uint64_t sequence) { return queue_->release(id(), sequence); }

void QueueReader::detach() { queue_->detach(id()); }

bool QueueReader::send(Command command) { return queue_->commands_.put(id(), std::move(command)); }

std::optional<Reply> QueueReader::next_reply() { return queue_->commands_.next_reply(id()); }

std::uint64_t QueueReader::delivered() const { return queue_->state_of(id()).delivered; }

std::uint64_t QueueReader::missed() const { return queue_->state_of(id()).missed; }

bool QueueReader::stalled() const { return queue_->state_of(id()).stalled; }

} // namespace uzushio::staging
