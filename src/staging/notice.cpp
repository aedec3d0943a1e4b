#include "staging/notice.hpp"

#include <cstdio>
#include <utility>

namespace uzushio::staging {
namespace {

thread_local const NoticeScope* innermost = nullptr;

} // namespace

NoticeScope::NoticeScope(std::function<void(const std::string&)> receiver)
    : receiver_(std::move(receiver)), outer_(std::exchange(innermost, this)) {}

NoticeScope::~NoticeScope() { innermost = outer_; }

void notice(const std::string& sentence) {
    if (innermost != nullptr)
        innermost->receiver_(sentence);
    else
        std::fprintf(stderr, "uzushio: %s\n", sentence.c_str());
}

} // namespace uzushio::staging
