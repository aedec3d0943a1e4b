#include "staging/transport/socket/contact_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "staging/descriptor.hpp"
#include "staging/notice.hpp"
#include "staging/process_identity.hpp"
#include "staging/require.hpp"
#include "staging/signal_blocked_thread.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging::socket {
namespace {

using Clock = std::chrono::steady_clock;

/// Time in which another process that replaces the same file may hold its lock.
constexpr auto claim_timeout = std::chrono::seconds(1);
constexpr auto claim_interval = std::chrono::milliseconds(20);
constexpr auto check_interval = std::chrono::seconds(1);

std::string reason() { return std::generic_category().message(errno); }

bool same_file(int descriptor, const std::string& name) {
    struct stat own{}, there{};
    return ::fstat(descriptor, &own) == 0 && ::stat(name.c_str(), &there) == 0 &&
           own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

std::string read_text(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(name, std::ios::binary).rdbuf();
    return text.str();
}

/// Return the owner as a text, as far as the file describes it: "process 4711 on node7 publishes
/// the stream "flow"".
std::string describe_owner(const std::string& name) {
    const auto json = nlohmann::json::parse(read_text(name), nullptr, false);
    const auto entry = [&](const char* key) {
        return json.is_object() && json.contains(key) ? json[key] : nlohmann::json();
    };
    std::string owner = "another process";
    if (entry("process").is_number())
        owner = "process " + entry("process").dump();
    if (entry("host").is_string())
        owner += " on " + entry("host").get<std::string>();
    owner += entry("engine") == "relay" ? " relays" : " publishes";
    return owner + (entry("stream").is_string() ? " the stream " + entry("stream").dump() : "");
}

} // namespace

class ContactFile::State {
  public:
    State(std::filesystem::path file, std::string text)
        : file_(std::filesystem::absolute(file)), name_(file_.string()), text_(std::move(text)),
          draft_(name_ + "." + std::to_string(::getpid()) + ".draft") {
        write_draft();
        try {
            claim();
        } catch (...) {
            ::unlink(draft_.c_str());
            throw;
        }
        checker_ =
            std::make_unique<std::thread>(start_signal_blocked_thread([this] { run_checks(); }));
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        if (!process_.here()) {
            (void)checker_.release(); // this process has no such thread
            return;
        }
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        stop_event_.notify_all();
        checker_->join();
        if (read_text(name_) == text_)
            ::unlink(name_.c_str());
    }

    [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  private:
    [[noreturn]] void cannot_be_written(const std::string& why) const {
        throw StagingError("The contact file " + name_ + " cannot be written: " + why + ".");
    }

    void write_draft() {
        ::unlink(draft_.c_str()); // left behind by a process with the same number
        own_.emplace(::open(draft_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                            S_IRUSR | S_IWUSR));
        if (own_->get() < 0 && errno == ENOENT)
            cannot_be_written(sentence("the folder ", file_.parent_path(),
                                       " does not exist; make it, or name another"));
        if (own_->get() < 0)
            cannot_be_written(reason());
        for (std::size_t at = 0; at < text_.size();) {
            const ssize_t put = ::write(own_->get(), text_.data() + at, text_.size() - at);
            if (put < 0 && errno != EINTR) {
                const std::string why = reason();
                ::unlink(draft_.c_str());
                cannot_be_written(why);
            }
            at += static_cast<std::size_t>(std::max<ssize_t>(0, put));
        }
        (void)own_->try_lock(); // no other process has it open
    }

    /// Give the draft the final name. Return false if the name exists.
    [[nodiscard]] bool take_free_name() {
        if (::link(draft_.c_str(), name_.c_str()) == 0) {
            ::unlink(draft_.c_str());
            return true;
        }
        if (errno == EEXIST)
            return false;
        // A file system without links.
        if (struct stat there{}; ::lstat(name_.c_str(), &there) == 0)
            return false;
        take_name();
        return true;
    }
    void take_name() {
        if (::rename(draft_.c_str(), name_.c_str()) != 0)
            cannot_be_written(reason());
    }

    void claim() {
        const auto deadline = Clock::now() + claim_timeout;
        while (!take_free_name()) {
            const Descriptor there(::open(name_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
            // A process that replaces a file holds its lock, so that one of several does.
            const bool free = there.get() < 0 || there.try_lock();
            if (free && (there.get() < 0 || same_file(there.get(), name_)))
                return take_name();
            require(
                Clock::now() < deadline, "The contact file ", name_,
                " is in use: ", [&] { return describe_owner(name_); },
                ". Stop that process, or choose another contact file.");
            std::this_thread::sleep_for(claim_interval);
        }
    }

    void run_checks() {
        std::unique_lock lock(mutex_);
        while (!stop_event_.wait_for(lock, check_interval, [&] { return stopping_; }))
            check();
    }
    void check() {
        struct stat there{};
        if (::stat(name_.c_str(), &there) == 0) {
            if (!same_file(own_->get(), name_) && read_text(name_) != text_)
                notify_once(
                    "The contact file " + name_ +
                    " was replaced: readers that attach now find another writer or none; this "
                    "stream continues for attached readers.");
            return;
        }
        if (errno != ENOENT && errno != ENOTDIR)
            return;
        try {
            write_draft();
            if (take_free_name()) {
                last_notice_.clear();
                notice("The contact file " + name_ + " was removed, and has been written again.");
            } else {
                ::unlink(draft_.c_str());
            }
        } catch (const std::exception& error) {
            notify_once(sentence("The contact file was removed. ", error.what()));
        }
    }
    void notify_once(const std::string& sentence) {
        if (last_notice_ != sentence)
            notice(sentence);
        last_notice_ = sentence;
    }

    ProcessIdentity process_;
    std::filesystem::path file_;
    std::string name_;
    std::string text_;
    std::string draft_;
    std::optional<Descriptor> own_; ///< holds the lock
    std::string last_notice_;
    std::mutex mutex_;
    std::condition_variable stop_event_;
    bool stopping_ = false;
    std::unique_ptr<std::thread> checker_;
};

ContactFile::ContactFile(std::filesystem::path file, std::string text)
    : state_(std::make_unique<State>(std::move(file), std::move(text))) {}

ContactFile::~ContactFile() = default;

const std::filesystem::path& ContactFile::file() const { return state_->file(); }

} // namespace uzushio::staging::socket
