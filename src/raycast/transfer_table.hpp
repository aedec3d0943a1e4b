#pragma once

#include <limits>
#include <span>
#include <vector>

#include "raycast/color_table.hpp"
#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// Point of a piecewise linear transfer function.
struct TransferPoint {
    double value;
    Rgba color;
};

/// Mean optical properties of a medium between two samples.
struct OpticalProperties {
    Floats extinction; ///< per unit distance, to base 2: transmittance is 2^(−extinction)
    Floats red, green, blue;
};

/// Pre-integrated transfer function: mean extinction, and mean colour weighted by it, over all
/// values between those of two samples.
///
/// The table is indexed by the mean of the two values and by their difference. Where the function
/// is linear between the two values the difference has no effect, so the rows can be coarse; they
/// are closer for small differences. Values beyond the function's points have the colour of its
/// ends, and count as if they were at the ends. On a logarithmic scale the function is linear
/// between points in the logarithm of the value, and so are values between samples.
class TransferTable {
  public:
    /// Take one or more points with non-decreasing values. Throws std::invalid_argument otherwise.
    TransferTable(std::span<const TransferPoint> points, const Rgba& nan, bool logarithmic = false);

    /// Return the properties for values from which `shift` has been subtracted; those of NaN where
    /// a value is not finite.
    [[nodiscard]] UZUSHIO_INLINE OpticalProperties operator()(Floats first, Floats second,
                                                              double shift) const {
        const Mask finite = are_finite(first, second);
        const Floats low = floats(static_cast<float>(low_ - shift));
        const Floats scale = floats(scale_);
        const Floats top = floats(static_cast<float>(columns - 1));
        if (logarithmic_) [[unlikely]] {
            first = logarithm(first);
            second = logarithm(second);
        }
        const Floats a = min(max((first - low) * scale, floats(0)), top);
        const Floats b = min(max((second - low) * scale, floats(0)), top);
        const Ints column = to_ints(fma(a + b, floats(0.5F), floats(0.5F)));
        Ints entry = row(abs(a - b)) * columns + column;
        entry = select(finite, entry, ints(rows * columns));
        OpticalProperties optics;
        gather_fours(table_.data(), entry, optics.extinction, optics.red, optics.green,
                     optics.blue);
        return optics;
    }

    /// Return whether anything may be visible between two samples of values from `low` to `high`.
    /// If not, the extinction of the lookup is exactly 0, so skipping does not change the result.
    [[nodiscard]] bool visible(double low, double high) const;
    [[nodiscard]] bool nonfinite_visible() const { return table_[4UL * rows * columns] > 0; }

    /// Return the value to subtract before the lookup; 0 on a logarithmic scale.
    [[nodiscard]] double middle() const { return logarithmic_ ? 0 : middle_; }

  private:
    static constexpr std::int32_t columns = 1024;
    /// Rows of differences: eight per doubling of (difference + 8 columns).
    static constexpr std::int32_t fine = 8;
    static constexpr std::int32_t rows = 57;
    static constexpr float smallest = std::numeric_limits<float>::min();

    /// Return logarithms to base 2; that of the smallest normal number for those below it.
    static UZUSHIO_INLINE Floats logarithm(Floats value) {
        return log2(max(value, floats(smallest)));
    }
    static UZUSHIO_INLINE Ints row(Floats difference) {
        // The highest bits of a float count steps of 1 from 8 to 16, of 2 from 16 to 32, and so on.
        return (bit_cast_ints(difference + static_cast<float>(fine)) >> 20) - (0x41000000 >> 20);
    }
    /// Return the smallest difference of a row, in columns.
    static double difference(std::int32_t row);
    [[nodiscard]] bool any_opacity(double low, double high) const;

    std::vector<float>
        table_; ///< extinction, red, green, blue; the last entry is for values that are not finite
    std::vector<TransferPoint> points_; ///< with logarithms of values on a logarithmic scale
    bool logarithmic_;
    double low_ = 0, high_ = 0, middle_ = 0;
    float scale_ = 0;
};

} // namespace uzushio::raycast
