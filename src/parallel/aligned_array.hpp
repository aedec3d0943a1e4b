#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace uzushio::parallel {

/// Zero-filled array of a trivially copyable type, aligned to cache lines. Large arrays use huge
/// pages, because sweeps along z access one small page per row otherwise; the end that does not
/// fill a huge page has small ones.
template <class T> class AlignedArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    AlignedArray() = default;
    explicit AlignedArray(std::size_t size) : size_(size) {
        if (size == 0)
            return;
        constexpr std::size_t line = 64, huge = std::size_t{1} << 21;
        const std::size_t length = (bytes() + line - 1) / line * line;
        void* memory = nullptr;
        if (posix_memalign(&memory, length >= huge ? huge : line, length) != 0)
            throw std::bad_alloc();
        data_.reset(static_cast<T*>(memory));
#if defined(__linux__)
        if (length >= huge)
            madvise(memory, length / huge * huge, MADV_HUGEPAGE);
#endif
        std::memset(memory, 0, length);
    }

    [[nodiscard]] T* data() { return data_.get(); }
    [[nodiscard]] const T* data() const { return data_.get(); }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }
    T& operator[](std::size_t i) { return data_.get()[i]; }
    const T& operator[](std::size_t i) const { return data_.get()[i]; }
    operator std::span<T>() { return {data(), size_}; }

  private:
    struct Free {
        void operator()(T* p) const { std::free(p); }
    };
    std::unique_ptr<T, Free> data_;
    std::size_t size_ = 0;
};

} // namespace uzushio::parallel
