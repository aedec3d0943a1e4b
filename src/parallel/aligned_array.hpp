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
/// pages, because sweeps along z access one small page per row otherwise.
template <class T> class AlignedArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    AlignedArray() = default;
    explicit AlignedArray(std::size_t size) : size_(size) {
        if (size == 0)
            return;
        constexpr std::size_t huge = std::size_t{1} << 21;
        const std::size_t alignment = size * sizeof(T) >= huge ? huge : 64;
        const std::size_t bytes = (size * sizeof(T) + alignment - 1) / alignment * alignment;
        data_.reset(static_cast<T*>(std::aligned_alloc(alignment, bytes)));
        if (!data_)
            throw std::bad_alloc();
#if defined(__linux__)
        if (alignment == huge)
            madvise(data_.get(), bytes, MADV_HUGEPAGE);
#endif
        std::memset(static_cast<void*>(data_.get()), 0, bytes);
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
