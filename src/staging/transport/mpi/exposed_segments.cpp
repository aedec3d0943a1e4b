#include "staging/transport/mpi/exposed_segments.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "parallel/communicator.hpp"
#include "staging/require.hpp"
#include "staging/transport/mpi/job_state.hpp"

namespace uzushio::staging::mpi {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// Offset of a segment in its first page. Memory of malloc begins 16 bytes behind a page's start,
/// and a copy whose destination is slightly behind its source within the page is slower by a fifth
/// (4K aliasing).
constexpr std::size_t offset = 64;

/// Address ranges of released segments, for new memory of the same size, because readers may still
/// get from them. They are mapped to zeros that take no memory: see ExposedSegments.
class ReservedAddresses {
  public:
    /// Return a range of this size to map memory at; null if there is none.
    [[nodiscard]] void* take(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto range = std::find_if(ranges_.begin(), ranges_.end(), [&](const auto& candidate) {
            return candidate.size() == bytes;
        });
        if (range == ranges_.end())
            return nullptr;
        void* at = range->data();
        bytes_ -= bytes;
        ranges_.erase(range);
        return at;
    }

    /// Reserve a range, and replace its mapping by zeros.
    void put(std::span<std::byte> range) {
        ::madvise(range.data(), range.size(), MADV_DONTNEED); // MPI libraries intercept this call
        ::mmap(range.data(), range.size(), PROT_READ,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        const std::lock_guard lock(mutex_);
        ranges_.push_back(range);
        bytes_ += range.size();
        while (ranges_.size() > max_ranges || bytes_ > max_bytes)
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
    static constexpr std::size_t max_ranges = 4096;
    static constexpr std::size_t max_bytes = std::size_t{16} << 40;

    std::mutex mutex_;
    std::deque<std::span<std::byte>> ranges_; ///< the oldest first
    std::size_t bytes_ = 0;
};

/// Memory in whole pages, the smallest unit of MPI's registration; huge pages if large enough.
class SegmentPages {
  public:
    explicit SegmentPages(std::size_t bytes)
        : bytes_(round_up(std::max<std::size_t>(1, bytes), 4096)) {
        if (bytes_ >= huge_page)
            bytes_ = round_up(bytes_, huge_page);
        void* memory = map(job_state<ReservedAddresses>().take(bytes_));
        if (memory == MAP_FAILED) {
            job_state<ReservedAddresses>()
                .clear(); // they count towards a limit of addresses (ulimit -v)
            memory = map(nullptr);
        }
        require(memory != MAP_FAILED, "Not enough memory for ", bytes,
                " bytes of a step: use a shorter queue, or more nodes.");
        ::madvise(memory, bytes_, MADV_HUGEPAGE); // a hint only
        data_ = static_cast<std::byte*>(memory);
    }
    SegmentPages(const SegmentPages&) = delete;
    SegmentPages& operator=(const SegmentPages&) = delete;
    ~SegmentPages() {
        switch (final_contents_) {
        case AddressContents::unmapped:
            ::munmap(data_, bytes_);
            return;
        case AddressContents::zeros:
            job_state<ReservedAddresses>().put(bytes());
            return;
        case AddressContents::values:
            return;
        }
    }

    [[nodiscard]] std::span<std::byte> bytes() const { return {data_, bytes_}; }
    void set_final_contents(AddressContents contents) { final_contents_ = contents; }

  private:
    [[nodiscard]] void* map(void* at) const {
        return ::mmap(at, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0);
    }

    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    AddressContents final_contents_ = AddressContents::unmapped;
};

/// Number of segments that this process has attached to each window. All streams between the same
/// ranks share a window.
class WindowAttachments {
  public:
    /// Return false if MPI does not allow it.
    [[nodiscard]] bool attach(MPI_Win window, std::span<std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        std::size_t& attached = attached_[window];
        if (attached == ExposedSegments::max_attached ||
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
    return job_state<WindowAttachments>().attach(window, bytes);
}

void detach(MPI_Win window, std::span<std::byte> bytes) {
    job_state<WindowAttachments>().detach(window, bytes);
}

} // namespace

class ExposedSegments::ExposedSegment : public Segment {
  public:
    ExposedSegment(std::size_t bytes, std::shared_ptr<ExposedSegments> segments)
        : pages_(offset + bytes), segments_(std::move(segments)),
          reachable_(segments_->add(pages_.bytes())) {}
    ExposedSegment(const ExposedSegment&) = delete;
    ExposedSegment& operator=(const ExposedSegment&) = delete;
    ~ExposedSegment() override { pages_.set_final_contents(segments_->remove(pages_.bytes())); }

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
    SegmentPages pages_;
    std::shared_ptr<ExposedSegments> segments_;
    bool reachable_;
};

std::unique_ptr<Segment> ExposedSegments::make_segment(std::size_t bytes) {
    return std::make_unique<ExposedSegment>(bytes, shared_from_this());
}

bool ExposedSegments::open(MPI_Win window) {
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

bool ExposedSegments::add(std::span<std::byte> bytes) {
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

AddressContents ExposedSegments::remove(std::span<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    const auto segment =
        std::find_if(segments_.begin(), segments_.end(),
                     [&](const auto& candidate) { return candidate.data() == bytes.data(); });
    if (segment == segments_.end() || parallel::mpi_is_finalized())
        return AddressContents::unmapped;
    segments_.erase(segment);
    for (const MPI_Win window : windows_)
        detach(window, bytes);
    return windows_.empty() ? AddressContents::unmapped
           : retain_values_ ? AddressContents::values
                            : AddressContents::zeros;
}

void ExposedSegments::retain_values() {
    const std::lock_guard lock(mutex_);
    retain_values_ = true;
}

} // namespace uzushio::staging::mpi
