#pragma once

#include <cstddef>

#include "parallel/aligned_array.hpp"

namespace uzushio::channel {

/// View of a stack of planes of complex values, such as Fourier modes. A plane holds the real parts
/// of this rank's modes, then the imaginary parts: sweeps along z have real coefficients and read
/// both as plain vectors. Plane -1 and plane `planes` are ghost layers.
struct Planes {
    double* base = nullptr; ///< real parts of plane 0
    std::ptrdiff_t stride = 0;
    int modes = 0;
    int planes = 0;

    [[nodiscard]] double* re(int k) const { return base + k * stride; }
    [[nodiscard]] double* im(int k) const { return base + k * stride + modes; }
};

/// Velocity components, or other vectors, on the staggered grid.
struct Velocity {
    Planes u, v, w;
};

/// Scalar fields of this rank in one allocation: `planes` planes of `modes` complex modes each,
/// with one ghost layer on either side; initially zero.
class Fields {
  public:
    Fields(int count, int planes, int modes)
        : stride_(stride(modes)), modes_(modes), planes_(planes),
          data_(static_cast<std::size_t>(count * size(planes, modes))) {}

    [[nodiscard]] Planes view(int index = 0) {
        return {data_.data() + index * size(planes_, modes_) + stride_, stride_, modes_, planes_};
    }
    [[nodiscard]] std::size_t bytes() const { return data_.bytes(); }

    /// Return the number of doubles of one field.
    [[nodiscard]] static std::ptrdiff_t size(int planes, int modes) {
        return stride(modes) * (planes + 2);
    }
    /// Return the distance between planes in doubles: whole cache lines, but no multiple of 4 KiB,
    /// with which all rows of a column would be mapped to the same cache sets.
    [[nodiscard]] static std::ptrdiff_t stride(int modes) {
        std::ptrdiff_t stride = (2 * std::ptrdiff_t{modes} + 7) / 8 * 8;
        if (stride % 512 == 0)
            stride += 8;
        return stride;
    }

  private:
    std::ptrdiff_t stride_;
    int modes_;
    int planes_;
    parallel::AlignedArray<double> data_;
};

} // namespace uzushio::channel
