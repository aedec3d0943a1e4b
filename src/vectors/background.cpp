#include "vectors/background.hpp"

#include <algorithm>
#include <array>

#include "vectors/dots.hpp"
#include "vectors/layout.hpp"

namespace uzushio::vectors {

namespace {

Layout state_of(std::size_t size, int threads) { return {size, {Bounds{0.0, 0.0}}, true, threads}; }

} // namespace

stencil::Double2 enter(const double* values, double unit, const double* background, double* out,
                       std::size_t size, int threads) {
    return over_blocks(state_of(size, threads), Dots(1),
                       [=](const Block& block, Dots& found) {
                           const double* const x = values + block.begin;
                           double* const made = out + block.begin;
#pragma omp simd
                           for (std::size_t i = 0; i < block.size; ++i)
                               made[i] = unit * x[i];
                           if (background == nullptr)
                               return;
                           std::array<double, Block::most> away;
#pragma omp simd
                           for (std::size_t i = 0; i < block.size; ++i)
                               away[i] = made[i] - background[block.begin + i];
                           found[0].add(away.data(), away.data(), block.size);
                       })
        .folded()
        .front();
}

void leave(double* slopes, double unit, const double* values, const double* background,
           double precision, std::size_t size, int threads) {
    static_cast<void>(over_blocks(state_of(size, threads), Dots(0), [=](const Block& block, Dots&) {
        const std::size_t end = block.begin + block.size;
        if (background == nullptr) {
#pragma omp simd
            for (std::size_t i = block.begin; i < end; ++i)
                slopes[i] *= unit;
            return;
        }
#pragma omp simd
        for (std::size_t i = block.begin; i < end; ++i)
            slopes[i] = (slopes[i] + precision * (unit * values[i] - background[i])) * unit;
    }));
}

} // namespace uzushio::vectors
