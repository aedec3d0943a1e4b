#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace uzushio::staging {

/// As long as it lives, `notice` on this thread calls `tell`.
class NoticeScope {
  public:
    explicit NoticeScope(std::function<void(const std::string&)> tell);
    NoticeScope(const NoticeScope&) = delete;
    NoticeScope& operator=(const NoticeScope&) = delete;
    ~NoticeScope();

  private:
    friend void notice(const std::string& sentence);

    std::function<void(const std::string&)> tell_;
    const NoticeScope* outer_;
};

/// Tell the user what needs no answer, such as what a wait is for. Without a NoticeScope it is a
/// line "uzushio: ..." on the standard error.
void notice(const std::string& sentence);

/// Decides when a wait is to say what it waits for: once, after two seconds.
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
