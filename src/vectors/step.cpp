#include "vectors/step.hpp"

#include <algorithm>
#include <array>

#include "vectors/dots.hpp"

namespace uzushio::vectors {

stencil::Double2 move(const Layout& layout, const double* point, double length,
                      const double* direction, const double* gradient, double* out) {
    return over_blocks(layout, Dots(1),
                       [=](const Block& block, Dots& found) {
                           const auto [low, high] = block.bounds;
                           const double* const x = point + block.begin;
                           const double* const d = direction + block.begin;
                           double* const moved = out + block.begin;
                           std::array<double, Block::most> way;
#pragma omp simd
                           for (std::size_t i = 0; i < block.size; ++i) {
                               const double there = x[i] + length * d[i];
                               // What is not a number stays none.
                               const double held = there < low ? low : there > high ? high : there;
                               way[i] = held - x[i];
                               moved[i] = held;
                           }
                           found[0].add(gradient + block.begin, way.data(), block.size);
                       })
        .folded()
        .front();
}

std::vector<stencil::Double2> pair(const Layout& layout, const double* point, double* before,
                                   const double* gradient, double* gradient_before,
                                   std::span<const double* const> steps) {
    return over_blocks(layout, Dots(3 + steps.size()),
                       [=](const Block& block, Dots& found) {
                           const double* const x = point + block.begin;
                           const double* const g = gradient + block.begin;
                           double* const step = before + block.begin;
                           double* const change = gradient_before + block.begin;
#pragma omp simd
                           for (std::size_t i = 0; i < block.size; ++i) {
                               step[i] = x[i] - step[i];
                               change[i] = g[i] - change[i];
                           }
                           found[0].add(step, step, block.size);
                           found[1].add(step, change, block.size);
                           found[2].add(change, change, block.size);
                           for (std::size_t k = 0; k < steps.size(); ++k)
                               found[3 + k].add(steps[k] + block.begin, change, block.size,
                                                Block::most);
                       })
        .folded();
}

} // namespace uzushio::vectors
