#include "vectors/direction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "vectors/dots.hpp"

namespace uzushio::vectors {

namespace {

using Values = std::array<double, Block::most>;

/// Sets `out` to the values of a block that are free, and to 0 where they are held; returns how
/// many are. It may be where the values are.
std::size_t take_free(const Block& block, const double* point, const double* gradient,
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

/// Adds Σ weights[j] vectors[j] to a block of `out`.
void add_all(const Block& block, std::span<const double> weights,
             std::span<const double* const> vectors, double* out) {
    for (std::size_t j = 0; j < vectors.size(); ++j) {
        const double* const vector = vectors[j] + block.begin;
        const double weight = weights[j];
        for (std::size_t begin = 0; begin < block.size; begin += 8) {
            __builtin_prefetch(vector + begin + Block::most);
            const std::size_t end = std::min(begin + 8, block.size);
#pragma omp simd
            for (std::size_t i = begin; i < end; ++i)
                out[i] += weight * vector[i];
        }
    }
}

/// What a thread has found of a `Look`.
class Looking {
  public:
    explicit Looking(std::size_t pairs)
        : pairs_(pairs), slopes_(pairs), curves_(pairs * (pairs + 1) / 2), lengths_(pairs) {}

    void see(const Block& block, const double* point, const double* gradient,
             std::span<const double* const> steps, std::span<const double* const> changes) {
        Values slope;
        const double* const x = point + block.begin;
        const double* const g = gradient + block.begin;
        const std::size_t held = take_free(block, x, g, g, slope.data());
        double largest = largest_;
        int unknown = 0;
#pragma omp simd reduction(max : largest) reduction(+ : unknown)
        for (std::size_t i = 0; i < block.size; ++i) {
            largest = std::max(largest, std::abs(slope[i]));
            unknown += slope[i] != slope[i];
        }
        largest_ = largest;
        unknown_ = unknown_ || unknown > 0;
        for (std::size_t i = 0; i < pairs_; ++i)
            slopes_[i].add(steps[i] + block.begin, slope.data(), block.size, Block::most);
        if (held > 0)
            see_held(block, x, g, steps, changes);
        held_ += held;
    }

    void add(const Looking& other) {
        largest_ = std::max(largest_, other.largest_);
        unknown_ = unknown_ || other.unknown_;
        held_ += other.held_;
        slopes_.add(other.slopes_);
        curves_.add(other.curves_);
        lengths_.add(other.lengths_);
    }

    [[nodiscard]] Look found() const {
        return {unknown_ ? std::numeric_limits<double>::quiet_NaN() : largest_, held_,
                slopes_.folded(), curves_.folded(), lengths_.folded()};
    }

  private:
    /// Bring the held elements of a block together, and multiply those.
    void see_held(const Block& block, const double* point, const double* gradient,
                  std::span<const double* const> steps, std::span<const double* const> changes) {
        std::array<std::size_t, Block::most> places;
        std::size_t held = 0;
        for (std::size_t i = 0; i < block.size; ++i)
            if (!is_free(point[i], gradient[i], block.bounds))
                places[held++] = block.begin + i;
        // Zeros up to whole lanes: they change nothing.
        constexpr std::size_t lanes = stencil::DotSum::lanes;
        const std::size_t size = (held + lanes - 1) / lanes * lanes;
        gathered_.assign(2 * pairs_ * Block::most, 0.0);
        for (std::size_t k = 0; k < pairs_; ++k)
            for (std::size_t i = 0; i < held; ++i) {
                step(k)[i] = steps[k][places[i]];
                change(k)[i] = changes[k][places[i]];
            }
        std::size_t place = 0;
        for (std::size_t j = 0; j < pairs_; ++j) {
            for (std::size_t i = 0; i <= j; ++i)
                curves_[place++].add(step(i), change(j), size);
            lengths_[j].add(change(j), change(j), size);
        }
    }

    double* step(std::size_t k) { return gathered_.data() + 2 * k * Block::most; }
    double* change(std::size_t k) { return gathered_.data() + (2 * k + 1) * Block::most; }

    std::size_t pairs_;
    double largest_ = 0.0;
    bool unknown_ = false;
    std::size_t held_ = 0;
    Dots slopes_, curves_, lengths_;
    std::vector<double> gathered_;
};

} // namespace

Look look(const Layout& layout, const double* point, const double* gradient,
          std::span<const double* const> steps, std::span<const double* const> changes) {
    return over_blocks(layout, Looking(steps.size()),
                       [=](const Block& block, Looking& found) {
                           found.see(block, point, gradient, steps, changes);
                       })
        .found();
}

std::vector<stencil::Double2> combine(const Layout& layout, const double* point,
                                      const double* gradient, const double* base, double scale,
                                      std::span<const double> weights,
                                      std::span<const double* const> vectors,
                                      std::span<const double* const> against, double* out) {
    return over_blocks(layout, Dots(against.size()),
                       [=](const Block& block, Dots& found) {
                           double* const sum = out + block.begin;
                           if (base != out)
                               std::copy_n(base + block.begin, block.size, sum);
                           add_all(block, weights, vectors, sum);
#pragma omp simd
                           for (std::size_t i = 0; i < block.size; ++i)
                               sum[i] *= scale;
                           take_free(block, point + block.begin, gradient + block.begin, sum, sum);
                           for (std::size_t j = 0; j < against.size(); ++j)
                               found[j].add(against[j] + block.begin, sum, block.size, Block::most);
                       })
        .folded();
}

} // namespace uzushio::vectors
