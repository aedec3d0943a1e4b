#include "staging/transport/shm/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "parallel/available_memory.hpp"
#include "staging/descriptor.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/shm/segment_header.hpp"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 // Linux 5.1
#endif

namespace uzushio::staging::shm {
namespace {

[[noreturn]] void throw_no_memory(std::size_t bytes, const std::string& why) {
    throw StagingError(sentence("Not enough shared memory for ", bytes, " bytes of a step (", why,
                                "): lower the queue's depth, or use more ranks or nodes."));
}

/// Check limits before allocation: exceeding the maximum file size or the available memory ends the
/// process.
void require_memory(std::size_t bytes) {
    const std::size_t available = parallel::available_memory().bytes;
    if (bytes > available)
        throw_no_memory(bytes, sentence(available, " are available"));
    rlimit files{};
    if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur != RLIM_INFINITY &&
        bytes + 2 * SegmentHeader::bytes > files.rlim_cur)
        throw_no_memory(bytes, sentence("the limit of a file's size is ", files.rlim_cur));
}

class SharedSegment final : public Segment {
  public:
    explicit SharedSegment(std::size_t bytes)
        : size_(SegmentHeader::bytes +
                (bytes + SegmentHeader::bytes - 1) / SegmentHeader::bytes * SegmentHeader::bytes),
          file_(memfd_create("uzushio", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
        if (file_.get() < 0)
            throw_no_memory(bytes, std::strerror(errno));
        require_memory(bytes);
        // Not ftruncate: missing pages would raise SIGBUS later.
        if (const int fault = posix_fallocate(file_.get(), 0, static_cast<off_t>(size_)))
            throw_no_memory(bytes, std::strerror(fault));
        void* const at =
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_.get(), 0);
        if (at == MAP_FAILED)
            throw_no_memory(bytes, std::strerror(errno));
        memory_ = static_cast<std::byte*>(at);
        header_ = new (at) SegmentHeader{random_token(), size_ - SegmentHeader::bytes, 1, 0};
        fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
        fcntl(file_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE); // if the system supports it
        fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SEAL);
    }
    SharedSegment(const SharedSegment&) = delete;
    SharedSegment& operator=(const SharedSegment&) = delete;
    ~SharedSegment() override {
        header_->released.store(1, std::memory_order_release);
        munmap(memory_, size_);
    }

    std::span<std::byte> bytes() override {
        return {memory_ + SegmentHeader::bytes, size_ - SegmentHeader::bytes};
    }

    [[nodiscard]] SegmentPlace place() const override {
        return {static_cast<std::uint64_t>(getpid()),
                pack_handle(static_cast<std::uint32_t>(file_.get()),
                            header_->generation.load(std::memory_order_relaxed)),
                header_->payload_bytes, header_->token};
    }

    void renew() override {
        header_->generation.fetch_add(1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst); // before any new value
    }

  private:
    static std::uint64_t random_token() {
        std::uint64_t token = 0;
        while (token == 0)
            require(getrandom(&token, sizeof token, 0) == sizeof token,
                    "The system returned no random number for the memory's token.");
        return token;
    }

    std::size_t size_;
    Descriptor file_;
    std::byte* memory_ = nullptr;
    SegmentHeader* header_ = nullptr;
};

} // namespace

std::unique_ptr<Segment> make_shared_segment(std::size_t bytes) {
    return std::make_unique<SharedSegment>(bytes);
}

} // namespace uzushio::staging::shm
