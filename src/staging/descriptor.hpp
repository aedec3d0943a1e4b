#pragma once

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
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
        while (::flock(number_, LOCK_EX | LOCK_NB) != 0)
            if (errno != EINTR)
                return errno != EWOULDBLOCK && errno != EACCES;
        return true;
    }
    /// Return the descriptor, which the caller closes.
    [[nodiscard]] int release() { return std::exchange(number_, -1); }

  private:
    int number_;
};

} // namespace uzushio::staging
