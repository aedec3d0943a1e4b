#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace uzushio::staging {

/// Scope in which `notice` on this thread calls `receiver`.
class NoticeScope {
  public:
    explicit NoticeScope(std::function<void(const std::string&)> receiver);
    NoticeScope(const NoticeScope&) = delete;
    NoticeScope& operator=(const NoticeScope&) = delete;
    ~NoticeScope();

  private:
    friend void notice(const std::string& sentence);

    std::function<void(const std::string&)> receiver_;
    const NoticeScope* outer_;
};

/// Report information for the user, such as the reason of a wait. Without a NoticeScope it is a
/// line "uzushio: ..." on the standard error.
void notice(const std::string& sentence);

/// Timer for the notice of a wait: due once, after two seconds.
class WaitNotice {
  public:
    [[nodiscard]] bool due() {
        const bool now = !said_ && std::chrono::steady_clock::now() >= due_;
        said_ = said_ || now;
        return now;
    }

  private:
    std::chrono::steady_clock::time_point due_ =
        std::chrono::steady_clock::now() + std::chrono::seconds(2);
    bool said_ = false;
};

} // namespace uzushio::staging
