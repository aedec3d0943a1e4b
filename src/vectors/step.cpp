#include "vectors/step.hpp"

#include <algorithm>
#include <array>

#include "vectors/dot_sums.hpp"

namespace uzushio::vectors {

parallel::DoubleDouble bounded_step(const VectorLayout& layout, const double* point, double length,
                                    const double* direction, const double* gradient, double* out) {
    return reduce_blocks(
               layout, DotSums(1),
               [=](const VectorBlock& block, DotSums& sums) {
                   const auto [low, high] = block.bounds;
                   const double* const x = point + block.begin;
                   const double* const d = direction + block.begin;
                   double* const projected = out + block.begin;
                   std::array<double, VectorBlock::max_size> change;
#pragma omp simd
                   for (std::size_t i = 0; i < block.size; ++i) {
                       const double target = x[i] + length * d[i];
                       // NaN is preserved.
                       const double bounded = target < low ? low : target > high ? high : target;
                       change[i] = bounded - x[i];
                       projected[i] = bounded;
                   }
                   sums[0].add(gradient + block.begin, change.data(), block.size);
               })
        .folded()
        .front();
}

std::vector<parallel::DoubleDouble> correction_pair(const VectorLayout& layout, const double* point,
                                                    double* before, const double* gradient,
                                                    double* gradient_before,
                                                    std::span<const double* const> steps) {
    return reduce_blocks(layout, DotSums(3 + steps.size()),
                         [=](const VectorBlock& block, DotSums& sums) {
                             const double* const x = point + block.begin;
                             const double* const g = gradient + block.begin;
                             double* const step = before + block.begin;
                             double* const change = gradient_before + block.begin;
#pragma omp simd
                             for (std::size_t i = 0; i < block.size; ++i) {
                                 step[i] = x[i] - step[i];
                                 change[i] = g[i] - change[i];
                             }
                             sums[0].add(step, step, block.size);
                             sums[1].add(step, change, block.size);
                             sums[2].add(change, change, block.size);
                             for (std::size_t k = 0; k < steps.size(); ++k)
                                 sums[3 + k].add(steps[k] + block.begin, change, block.size,
                                                 VectorBlock::max_size);
                         })
        .folded();
}

} // namespace uzushio::vectors
