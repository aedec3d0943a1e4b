#include "staging/transport/mpi/exposure.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "staging/staging_error.hpp"

namespace uzushio::staging::mpi {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// Where a segment begins in its first page. Arrays of malloc begin 16 bytes behind a page's start,
/// and a copy that writes a little further in its page than it reads is slower by a fifth: the
/// processor takes what it reads for what it has just written.
constexpr std::size_t offset = 64;

/// Addresses at which readers could get from this process, for new memory of the same size. They
/// are mapped, to zeros that take no memory: see Exposure.
class Retired {
  public:
    [[nodiscard]] static Retired& of_process() {
        static Retired retired; // addresses are the process's
        return retired;
    }

    /// Null if there are none of this size; else memory is to be mapped there.
    [[nodiscard]] void* take(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto found = std::find_if(ranges_.begin(), ranges_.end(),
                                        [&](const auto& one) { return one.size() == bytes; });
        if (found == ranges_.end())
            return nullptr;
        void* at = found->data();
        bytes_ -= bytes;
        ranges_.erase(found);
        return at;
    }

    /// In place of what is mapped there.
    void put(std::span<std::byte> range) {
        ::madvise(range.data(), range.size(), MADV_DONTNEED); // MPI libraries notice this call
        ::mmap(range.data(), range.size(), PROT_READ,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        const std::lock_guard lock(mutex_);
        ranges_.push_back(range);
        bytes_ += range.size();
        while (ranges_.size() > most_ranges || bytes_ > most_bytes)
            drop_oldest();
    }

    void clear() {
        const std::lock_guard lock(mutex_);
        while (!ranges_.empty())
            drop_oldest();
    }

  private:
    void drop_oldest() {
        bytes_ -= ranges_.front().size();
        ::munmap(ranges_.front().data(), ranges_.front().size());
        ranges_.pop_front();
    }

    /// Of the 65 530 mappings that Linux allows a process, and of its 128 TiB.
    static constexpr std::size_t most_ranges = 4096;
    static constexpr std::size_t most_bytes = std::size_t{16} << 40;

    std::mutex mutex_;
    std::deque<std::span<std::byte>> ranges_; ///< the oldest first
    std::size_t bytes_ = 0;
};

/// Whole pages, since MPI may register no less; large ones if there is enough for one.
class Pages {
  public:
    explicit Pages(std::size_t bytes) : bytes_(round_up(std::max<std::size_t>(1, bytes), 4096)) {
        if (bytes_ >= huge_page)
            bytes_ = round_up(bytes_, huge_page);
        void* memory = map(Retired::of_process().take(bytes_));
        if (memory == MAP_FAILED) {
            Retired::of_process().clear(); // they count where addresses are limited (ulimit -v)
            memory = map(nullptr);
        }
        if (memory == MAP_FAILED)
            throw StagingError("There is no memory for " + std::to_string(bytes) +
                               " bytes of a step: use a shorter queue, or more nodes.");
        ::madvise(memory, bytes_, MADV_HUGEPAGE); // a wish only
        data_ = static_cast<std::byte*>(memory);
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages() {
        switch (remains_) {
        case Remains::nothing:
            ::munmap(data_, bytes_);
            return;
        case Remains::zeros:
            Retired::of_process().put(bytes());
            return;
        case Remains::values:
            return;
        }
    }

    [[nodiscard]] std::span<std::byte> bytes() const { return {data_, bytes_}; }
    void leave(Remains remains) { remains_ = remains; }

  private:
    [[nodiscard]] void* map(void* at) const {
        return ::mmap(at, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0);
    }

    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    Remains remains_ = Remains::nothing;
};

/// What this process has attached to each window. Of the process, as windows are: all streams
/// between the same ranks share one.
class Attachments {
  public:
    [[nodiscard]] static Attachments& of_process() {
        static Attachments attachments;
        return attachments;
    }

    /// Returns false if MPI does not allow it.
    [[nodiscard]] bool attach(MPI_Win window, std::span<std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        std::size_t& attached = attached_[window];
        if (attached == Exposure::most_attached ||
            MPI_Win_attach(window, bytes.data(), static_cast<MPI_Aint>(bytes.size())) !=
                MPI_SUCCESS)
            return false;
        ++attached;
        return true;
    }
    void detach(MPI_Win window, std::span<std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        MPI_Win_detach(window, bytes.data());
        --attached_[window];
    }

  private:
    std::mutex mutex_;
    std::map<MPI_Win, std::size_t> attached_;
};

bool attach(MPI_Win window, std::span<std::byte> bytes) {
    return Attachments::of_process().attach(window, bytes);
}

void detach(MPI_Win window, std::span<std::byte> bytes) {
    Attachments::of_process().detach(window, bytes);
}

} // namespace

class Exposure::Exposed : public Segment {
  public:
    Exposed(std::size_t bytes, std::shared_ptr<Exposure> exposure)
        : pages_(offset + bytes), exposure_(std::move(exposure)),
          reachable_(exposure_->add(pages_.bytes())) {}
    Exposed(const Exposed&) = delete;
    Exposed& operator=(const Exposed&) = delete;
    ~Exposed() override { pages_.leave(exposure_->remove(pages_.bytes())); }

    [[nodiscard]] std::span<std::byte> bytes() override { return pages_.bytes().subspan(offset); }
    [[nodiscard]] SegmentPlace place() const override {
        if (!reachable_)
            return {};
        MPI_Aint address = 0;
        const auto own = pages_.bytes().subspan(offset);
        MPI_Get_address(own.data(), &address);
        return {1, static_cast<std::uint64_t>(address), own.size(), 0};
    }

  private:
    Pages pages_;
    std::shared_ptr<Exposure> exposure_;
    bool reachable_;
};

std::unique_ptr<Segment> Exposure::make_segment(std::size_t bytes) {
    return std::make_unique<Exposed>(bytes, shared_from_this());
}

bool Exposure::open(MPI_Win window) {
    const std::lock_guard lock(mutex_);
    if (std::find(windows_.begin(), windows_.end(), window) != windows_.end())
        return true;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
        if (attach(window, segments_[i]))
            continue;
        while (i-- > 0)
            detach(window, segments_[i]);
        return false;
    }
    windows_.push_back(window);
    return true;
}

bool Exposure::add(std::span<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < windows_.size(); ++i) {
        if (attach(windows_[i], bytes))
            continue;
        while (i-- > 0)
            detach(windows_[i], bytes);
        return false;
    }
    segments_.push_back(bytes);
    return true;
}

Remains Exposure::remove(std::span<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(segments_.begin(), segments_.end(),
                                    [&](const auto& one) { return one.data() == bytes.data(); });
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (found == segments_.end() || finalized)
        return Remains::nothing;
    segments_.erase(found);
    for (const MPI_Win window : windows_)
        detach(window, bytes);
    return windows_.empty() ? Remains::nothing : kept_ ? Remains::values : Remains::zeros;
}

void Exposure::keep() {
    const std::lock_guard lock(mutex_);
    kept_ = true;
}

} // namespace uzushio::staging::mpi
