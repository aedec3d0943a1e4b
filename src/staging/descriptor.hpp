#pragma once

#include <unistd.h>

namespace uzushio::staging {

/// File descriptor, closed by the destructor; negative: none.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0)
            ::close(number_);
    }
    [[nodiscard]] int get() const { return number_; }

  private:
    int number_;
};

} // namespace uzushio::staging
