#include "vectors/direction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "vectors/dot_sums.hpp"

namespace uzushio::vectors {

namespace {

using Values = std::array<double, VectorBlock::max_size>;

/// Copy the free values of a block to `out` (which may be `values`) and set held ones to 0; return
/// the number of held elements.
std::size_t mask_held(const VectorBlock& block, const double* point, const double* gradient,
                      const double* values, double* out) {
    const Bounds bounds = block.bounds;
    std::size_t held = 0;
#pragma omp simd reduction(+ : held)
    for (std::size_t i = 0; i < block.size; ++i) {
        const bool free = is_free(point[i], gradient[i], bounds);
        out[i] = free ? values[i] : 0.0;
        held += free ? 0 : 1;
    }
    return held;
}

/// Add Σ weights[j] vectors[j] to a block of `out`.
void add_all(const VectorBlock& block, std::span<const double> weights,
             std::span<const double* const> vectors, double* out) {
    for (std::size_t j = 0; j < vectors.size(); ++j) {
        const double* const vector = vectors[j] + block.begin;
        const double weight = weights[j];
        for (std::size_t begin = 0; begin < block.size; begin += 8) {
            __builtin_prefetch(vector + begin + VectorBlock::max_size);
            const std::size_t end = std::min(begin + 8, block.size);
#pragma omp simd
            for (std::size_t i = begin; i < end; ++i)
                out[i] += weight * vector[i];
        }
    }
}

/// Partial `GradientSummary` of a thread.
class GradientReduction {
  public:
    explicit GradientReduction(std::size_t pairs)
        : pairs_(pairs), slopes_(pairs), curvatures_(pairs * (pairs + 1) / 2), squares_(pairs) {}

    void add_block(const VectorBlock& block, const double* point, const double* gradient,
                   std::span<const double* const> steps, std::span<const double* const> changes) {
        Values slope;
        const double* const x = point + block.begin;
        const double* const g = gradient + block.begin;
        const std::size_t held = mask_held(block, x, g, g, slope.data());
        double max_slope = max_slope_;
        int nan = 0;
#pragma omp simd reduction(max : max_slope) reduction(+ : nan)
        for (std::size_t i = 0; i < block.size; ++i) {
            max_slope = std::max(max_slope, std::abs(slope[i]));
            nan += slope[i] != slope[i];
        }
        max_slope_ = max_slope;
        nan_ = nan_ || nan > 0;
        for (std::size_t i = 0; i < pairs_; ++i)
            slopes_[i].add(steps[i] + block.begin, slope.data(), block.size, VectorBlock::max_size);
        if (held > 0)
            add_held(block, x, g, steps, changes);
        held_ += held;
    }

    void add(const GradientReduction& other) {
        max_slope_ = std::max(max_slope_, other.max_slope_);
        nan_ = nan_ || other.nan_;
        held_ += other.held_;
        slopes_.add(other.slopes_);
        curvatures_.add(other.curvatures_);
        squares_.add(other.squares_);
    }

    [[nodiscard]] GradientSummary summary() const {
        return {nan_ ? std::numeric_limits<double>::quiet_NaN() : max_slope_, held_,
                slopes_.folded(), curvatures_.folded(), squares_.folded()};
    }

  private:
    /// Gather the held elements of a block and add their products.
    void add_held(const VectorBlock& block, const double* point, const double* gradient,
                  std::span<const double* const> steps, std::span<const double* const> changes) {
        std::array<std::size_t, VectorBlock::max_size> indices;
        std::size_t held = 0;
        for (std::size_t i = 0; i < block.size; ++i)
            if (!is_free(point[i], gradient[i], block.bounds))
                indices[held++] = block.begin + i;
        // Pad to full lanes with zeros.
        constexpr std::size_t lanes = stencil::DotSum::lanes;
        const std::size_t size = (held + lanes - 1) / lanes * lanes;
        gathered_.assign(2 * pairs_ * VectorBlock::max_size, 0.0);
        for (std::size_t k = 0; k < pairs_; ++k)
            for (std::size_t i = 0; i < held; ++i) {
                step(k)[i] = steps[k][indices[i]];
                change(k)[i] = changes[k][indices[i]];
            }
        std::size_t product = 0;
        for (std::size_t j = 0; j < pairs_; ++j) {
            for (std::size_t i = 0; i <= j; ++i)
                curvatures_[product++].add(step(i), change(j), size);
            squares_[j].add(change(j), change(j), size);
        }
    }

    double* step(std::size_t k) { return gathered_.data() + 2 * k * VectorBlock::max_size; }
    double* change(std::size_t k) { return gathered_.data() + (2 * k + 1) * VectorBlock::max_size; }

    std::size_t pairs_;
    double max_slope_ = 0.0;
    bool nan_ = false;
    std::size_t held_ = 0;
    DotSums slopes_, curvatures_, squares_;
    std::vector<double> gathered_;
};

} // namespace

GradientSummary summarise_gradient(const VectorLayout& layout, const double* point,
                                   const double* gradient, std::span<const double* const> steps,
                                   std::span<const double* const> changes) {
    return reduce_blocks(layout, GradientReduction(steps.size()),
                         [=](const VectorBlock& block, GradientReduction& partial) {
                             partial.add_block(block, point, gradient, steps, changes);
                         })
        .summary();
}

std::vector<parallel::DoubleDouble> combine(const VectorLayout& layout, const double* point,
                                            const double* gradient, const double* base,
                                            double scale, std::span<const double> weights,
                                            std::span<const double* const> vectors,
                                            std::span<const double* const> against, double* out) {
    return reduce_blocks(layout, DotSums(against.size()),
                         [=](const VectorBlock& block, DotSums& sums) {
                             double* const sum = out + block.begin;
                             if (base != out)
                                 std::copy_n(base + block.begin, block.size, sum);
                             add_all(block, weights, vectors, sum);
#pragma omp simd
                             for (std::size_t i = 0; i < block.size; ++i)
                                 sum[i] *= scale;
                             mask_held(block, point + block.begin, gradient + block.begin, sum,
                                       sum);
                             for (std::size_t j = 0; j < against.size(); ++j)
                                 sums[j].add(against[j] + block.begin, sum, block.size,
                                             VectorBlock::max_size);
                         })
        .folded();
}

} // namespace uzushio::vectors
