#pragma once

#include <poll.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>

namespace uzushio::staging::test {

/// Process that a test starts, receives numbers from, stops or kills. Its work may use neither MPI
/// nor GoogleTest. It is killed at the end of the test if it still runs.
class OtherProcess {
  public:
    using Send = std::function<void(std::int64_t)>;

    /// Fork. No thread of this process may hold a lock that the work needs.
    explicit OtherProcess(const std::function<void(const Send&)>& work) {
        if (pipe(ends_.data()) != 0)
            throw std::runtime_error("no pipe for the test");
        process_ = fork();
        if (process_ != 0)
            return;
        int result = 1;
        try {
            work([this](std::int64_t number) {
                if (write(ends_[1], &number, sizeof number) != sizeof number)
                    _exit(3);
            });
            result = 0;
        } catch (...) {
        }
        _exit(result);
    }
    OtherProcess(const OtherProcess&) = delete;
    OtherProcess& operator=(const OtherProcess&) = delete;
    ~OtherProcess() {
        if (process_ > 0) {
            kill(process_, SIGKILL);
            waitpid(process_, nullptr, 0);
        }
        close(ends_[0]);
        close(ends_[1]);
    }

    /// Return the next number that the process sends, or nothing after `limit`.
    [[nodiscard]] std::optional<std::int64_t> receive(std::chrono::milliseconds limit) const {
        pollfd waiting{ends_[0], POLLIN, 0};
        std::int64_t number = 0;
        if (poll(&waiting, 1, static_cast<int>(limit.count())) != 1 ||
            read(ends_[0], &number, sizeof number) != sizeof number)
            return std::nullopt;
        return number;
    }
    void signal(int number) const { kill(process_, number); }
    /// Kill it, and wait for its end.
    void end() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
        process_ = -1;
    }
    /// Return whether it ended by itself with status 0.
    [[nodiscard]] bool ended_well() {
        int status = 0;
        waitpid(process_, &status, 0);
        process_ = -1;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

  private:
    std::array<int, 2> ends_{};
    pid_t process_ = -1;
};

} // namespace uzushio::staging::test
