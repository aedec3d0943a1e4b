#include "staging/interrupt.hpp"

#include <utility>

namespace uzushio::staging {
namespace {

thread_local const std::function<bool()>* current = nullptr;

} // namespace

InterruptScope::InterruptScope(std::function<bool()> asked)
    : asked_(std::move(asked)), before_(std::exchange(current, &asked_)) {}

InterruptScope::~InterruptScope() { current = before_; }

void throw_if_interrupted() {
    if (current != nullptr && (*current)())
        throw Interrupted("The wait was interrupted.");
}

} // namespace uzushio::staging
