#include "staging/signal_blocked_thread.hpp"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace uzushio::staging {

std::thread start_signal_blocked_thread(std::function<void()> work) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread thread(std::move(work));
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return thread;
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
}

} // namespace uzushio::staging
