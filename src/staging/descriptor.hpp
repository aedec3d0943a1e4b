#pragma once

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace uzushio::staging {

/// File descriptor, closed by the destructor; negative: none.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0)
            ::close(number_);
    }
    [[nodiscard]] int get() const { return number_; }
    /// Lock the open file or folder exclusively, without waiting. Returns false if another open
    /// file holds the lock, and true if the file system has no locks. The kernel releases the lock
    /// when the process ends.
    [[nodiscard]] bool try_lock() const {
        const int error = flock_error(LOCK_EX);
        return error != EWOULDBLOCK && error != EACCES;
    }
    /// Return whether no other open file holds the lock of `try_lock`; empty if the file system has
    /// no locks.
    [[nodiscard]] std::optional<bool> is_unlocked() const {
        const int error = flock_error(LOCK_SH);
        if (error != 0 && error != EWOULDBLOCK && error != EACCES)
            return std::nullopt;
        (void)::flock(number_, LOCK_UN);
        return error == 0;
    }
    /// Return the descriptor, which the caller closes.
    [[nodiscard]] int release() { return std::exchange(number_, -1); }

  private:
    [[nodiscard]] int flock_error(int kind) const {
        while (::flock(number_, kind | LOCK_NB) != 0)
            if (errno != EINTR)
                return errno;
        return 0;
    }

    int number_;
};

} // namespace uzushio::staging
