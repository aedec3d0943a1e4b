#pragma once

#include <type_traits>

#include "domain/box.hpp"

namespace uzushio::domain {

/// View of one block's array with its ghost layers, addressed by the zone's indices. Shape
/// (component, k, j, i) in C order: i is contiguous. Does not own the memory.
template <class T> class View {
  public:
    View() = default;
    View(T* data, const Box<3>& box, int components)
        : data_(data), box_(box), components_(components),
          stride_{1, box.extent(0), box.extent(0) * box.extent(1)}, component_stride_(box.volume()),
          origin_(box.lower[0] + box.lower[1] * stride_[1] + box.lower[2] * stride_[2]) {}
    operator View<const T>() const
        requires(!std::is_const_v<T>)
    {
        return {data_, box_, components_};
    }

    [[nodiscard]] T& operator()(std::int64_t i, std::int64_t j, std::int64_t k, int c = 0) const {
        return data_[offset({i, j, k}, c)];
    }
    [[nodiscard]] T& operator()(const Index<3>& index, int c = 0) const {
        return data_[offset(index, c)];
    }
    /// Return the distance of a value from `data()`, in values.
    [[nodiscard]] std::int64_t offset(const Index<3>& index, int c = 0) const {
        return index[0] + index[1] * stride_[1] + index[2] * stride_[2] + c * component_stride_ -
               origin_;
    }

    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] const Box<3>& box() const { return box_; }
    [[nodiscard]] int components() const { return components_; }
    /// Return the distances of neighbours along i, j, k, in values.
    [[nodiscard]] const Index<3>& strides() const { return stride_; }
    [[nodiscard]] std::int64_t component_stride() const { return component_stride_; }

  private:
    T* data_ = nullptr;
    Box<3> box_;
    int components_ = 0;
    Index<3> stride_{};
    std::int64_t component_stride_ = 0;
    std::int64_t origin_ = 0;
};

} // namespace uzushio::domain
