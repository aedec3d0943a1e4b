#pragma once

#include <array>
#include <span>
#include <vector>

#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// Red, green, blue, opacity, from 0 to 1; not premultiplied.
using Rgba = std::array<float, 4>;

struct Colors {
    Floats red, green, blue, opacity;
};

/// Colours of values, linear between rows; the first row is for `low`, the last for `high`.
/// Infinite values have the colour of NaN. On a logarithmic scale rows are equidistant, and colours
/// linear, in the logarithm of the value.
///
/// The lookup takes the nearest row of a finer table of at least 1024 rows: at most 1/2048 of the
/// range away.
class ColorTable {
  public:
    ColorTable(std::span<const Rgba> rows, double low, double high, const Rgba& below,
               const Rgba& above, const Rgba& nan, bool logarithmic = false);

    /// Return the colours of values from which `shift` has been subtracted.
    [[nodiscard]] UZUSHIO_INLINE Colors operator()(Floats value, double shift) const {
        const Floats low = floats(static_cast<float>(low_ - shift));
        const Floats high = floats(static_cast<float>(high_ - shift));
        const Floats place = logarithmic_ ? log2(value) - floats(log_low_) : value - low;
        const Floats position = fma(place, floats(scale_), floats(0.5F));
        Ints row = to_ints(min(max(position, floats(0)), floats(last_))) + 1;
        row = select(less(value, low), ints(0), row);
        row = select(less(high, value), ints(above_row_), row);
        row = select(is_finite(value), row, ints(nan_row_));
        Colors colors;
        gather_fours(rows_.data(), row, colors.red, colors.green, colors.blue, colors.opacity);
        return colors;
    }

    /// Return the value to subtract before the lookup, so that small differences of large numbers
    /// are kept; 0 on a logarithmic scale.
    [[nodiscard]] double middle() const { return logarithmic_ ? 0 : low_ / 2 + high_ / 2; }

    /// Return whether all colours are opaque.
    [[nodiscard]] bool opaque() const { return opaque_; }

  private:
    bool opaque_ = true, logarithmic_;
    std::vector<float> rows_; ///< below, rows, above, not finite
    double low_, high_;
    float scale_, last_;
    float log_low_ = 0; ///< to base 2
    std::int32_t above_row_, nan_row_;
};

} // namespace uzushio::raycast
