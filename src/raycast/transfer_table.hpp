#pragma once

#include <array>
#include <span>
#include <vector>

#include "raycast/color_table.hpp"
#include "raycast/simd.hpp"

namespace uzushio::raycast {

/// A point of a piecewise linear transfer function.
struct TransferPoint {
    double value;
    Rgba color;
};

/// What a medium does between two samples.
struct OpticalProperties {
    Floats
        extinction; ///< per unit distance, to base 2: what is left is 2 to the power of −extinction
    Floats red, green, blue;
};

/// Pre-integrated transfer function: mean extinction, and mean colour weighted by it, of all values
/// between those of two samples.
///
/// The table is by the mean of the two values and by their difference. For functions that are
/// linear between the two values the difference does not matter, so that it can be coarse: its rows
/// stand closer where it is small. Values beyond the function's points have the colour of its ends,
/// and count as if they were the ends.
class TransferTable {
  public:
    /// One point or more, values not falling. Throws std::invalid_argument otherwise.
    TransferTable(std::span<const TransferPoint> points, const Rgba& nan);

    /// Of values from which `shift` has been taken; that stated for NaN where one is not finite.
    [[nodiscard]] UZUSHIO_INLINE OpticalProperties operator()(Floats first, Floats second,
                                                              double shift) const {
        const Floats low = floats(static_cast<float>(low_ - shift));
        const Floats scale = floats(scale_);
        const Floats top = floats(static_cast<float>(columns - 1));
        const Floats a = min(max((first - low) * scale, floats(0)), top);
        const Floats b = min(max((second - low) * scale, floats(0)), top);
        const Ints column = to_ints(fma(a + b, floats(0.5F), floats(0.5F)));
        Ints entry = row(abs(a - b)) * columns + column;
        entry = select(are_finite(first, second), entry, ints(rows * columns));
        OpticalProperties optics;
        gather_fours(table_.data(), entry, optics.extinction, optics.red, optics.green,
                     optics.blue);
        return optics;
    }

    /// Whether the table may show anything between two samples of values from `low` to `high`.
    /// Where it says no, the extinction that is looked up is exactly 0: what is skipped does not
    /// matter.
    [[nodiscard]] bool visible(double low, double high) const;
    [[nodiscard]] bool nonfinite_visible() const { return table_[4UL * rows * columns] > 0; }

    /// About which to look values up.
    [[nodiscard]] double middle() const { return middle_; }

  private:
    static constexpr std::int32_t columns = 1024;
    /// Rows of differences: eight per doubling of (difference + 8 columns).
    static constexpr std::int32_t fine = 8;
    static constexpr std::int32_t rows = 57;

    static UZUSHIO_INLINE Ints row(Floats difference) {
        // The highest bits of a float count steps of 1 from 8 to 16, of 2 from 16 to 32, and so on.
        return (bit_cast_ints(difference + static_cast<float>(fine)) >> 20) - (0x41000000 >> 20);
    }
    /// The least difference of a row, in columns.
    static double difference(std::int32_t row);
    [[nodiscard]] bool any_opacity(double low, double high) const;

    std::vector<float>
        table_; ///< extinction, red, green, blue; the last entry is for what is not finite
    std::vector<TransferPoint> points_;
    double low_ = 0, high_ = 0, middle_ = 0;
    float scale_ = 0;
};

} // namespace uzushio::raycast
