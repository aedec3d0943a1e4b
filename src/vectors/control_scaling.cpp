#include "vectors/control_scaling.hpp"

#include <algorithm>
#include <array>

#include "vectors/dot_sums.hpp"
#include "vectors/vector_layout.hpp"

namespace uzushio::vectors {

namespace {

VectorLayout state_of(std::size_t size, int threads) {
    return {size, {Bounds{0.0, 0.0}}, true, threads};
}

} // namespace

parallel::DoubleDouble control_to_state(const double* values, double unit, const double* background,
                                        double* out, std::size_t size, int threads) {
    return reduce_blocks(state_of(size, threads), DotSums(1),
                         [=](const VectorBlock& block, DotSums& sums) {
                             const double* const x = values + block.begin;
                             double* const scaled = out + block.begin;
#pragma omp simd
                             for (std::size_t i = 0; i < block.size; ++i)
                                 scaled[i] = unit * x[i];
                             if (background == nullptr)
                                 return;
                             std::array<double, VectorBlock::max_size> distance;
#pragma omp simd
                             for (std::size_t i = 0; i < block.size; ++i)
                                 distance[i] = scaled[i] - background[block.begin + i];
                             sums[0].add(distance.data(), distance.data(), block.size);
                         })
        .folded()
        .front();
}

void gradient_to_control(double* gradient, double unit, const double* values,
                         const double* background, double precision, std::size_t size,
                         int threads) {
    static_cast<void>(
        reduce_blocks(state_of(size, threads), DotSums(0), [=](const VectorBlock& block, DotSums&) {
            const std::size_t end = block.begin + block.size;
            if (background == nullptr) {
#pragma omp simd
                for (std::size_t i = block.begin; i < end; ++i)
                    gradient[i] *= unit;
                return;
            }
#pragma omp simd
            for (std::size_t i = block.begin; i < end; ++i)
                gradient[i] = (gradient[i] + precision * (unit * values[i] - background[i])) * unit;
        }));
}

} // namespace uzushio::vectors
