#pragma once

#include <cstddef>

#include "phasefield/coefficients.hpp"
#include "phasefield/lane_sum.hpp"
#include "phasefield/lanes.hpp"

/// The four sweeps, a piece of a row at a time. All pointers are such that [x] is the point of
/// column x; pieces are [begin, end). Which optional pointers are null is looked at once a piece.
namespace uzushio::phasefield {

/// Three rows of the field, and the row that is made of them.
struct Stencil {
    const double* below;
    const double* here;
    const double* above;
    double* out;

    /// Sum of the neighbours less four times the point.
    template <class Part>
    [[nodiscard]] UZUSHIO_INLINE Lanes laplacian(std::ptrdiff_t x, Part part,
                                                 const Beside& beside) const {
        const Lanes across = beside.left + beside.right;
        const Lanes around = across + (part.load(below + x) + part.load(above + x));
        return fused(spread(-4.0), beside.centre, around);
    }
};

/// Rows by which a kernel asks for its inputs before it needs them.
inline constexpr std::ptrdiff_t rows_ahead = 1;

/// A row of something that comes from memory: [x] is the value of column x. Rows of a tile follow
/// each other, each too short for the processor to see where it goes on, so it is told: the value
/// `ahead` further on will be wanted next.
struct Input {
    const double* values = nullptr;
    std::ptrdiff_t ahead = 0;

    explicit operator bool() const { return values != nullptr; }

    template <class Part>
    [[nodiscard]] UZUSHIO_INLINE Lanes load(std::ptrdiff_t x, Part part) const {
        __builtin_prefetch(values + x + ahead, 0, 0);
        return part.load(values + x);
    }
};

/// An observed row: values, and weights, or one weight for all if there are none. It was not
/// observed if there are no values.
struct SeenRow {
    Input values;
    Input weights;
    double weight = 0.0;
};

/// Equation (2). Keeps the row it starts from in `keep`, past the caches, unless that is null; adds
/// (φ − y)² of the row it makes to `misfit`, times the weights if there are any.
void forward_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, double* keep, const SeenRow& seen, LaneSum& misfit);

/// The same for `count` rows, each `stride` further on than the one before, and nothing else.
void forward_rows(const Coefficients& c, Stencil rows, std::ptrdiff_t begin, std::ptrdiff_t end,
                  int count, std::ptrdiff_t stride);

/// What a row of an adjoint adds up.
struct AdjointSums {
    LaneSum slope;  ///< φ (1 − φ) λ, the terms of (6) without b
    LaneSum misfit; ///< (φ − y)² of the step that it makes, as `forward_row` adds it
};

/// Which of them.
enum class Summed { nothing, slope, both };

/// Equation (5). `phi` is of the step that it makes, as is what was seen.
void adjoint_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, const Input& phi, double* keep, const SeenRow& seen,
                 Summed summed, AdjointSums& sums);

/// Equation (7). `phi` is of the step that it starts from.
void tangent_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, const Input& phi, double* keep);

/// Equation (8), and the terms of (9) without b added to `slope` unless that is null. `lambda` is
/// λ of the step it starts from, or null for Gauss and Newton's part alone.
void second_order_row(const Coefficients& c, const Stencil& rows, std::ptrdiff_t begin,
                      std::ptrdiff_t end, const Input& phi, const Input& dphi, const Input& lambda,
                      const SeenRow& seen, LaneSum* slope);

/// Adds what `forward_row` would add for the row that is given.
void misfit_row(std::ptrdiff_t begin, std::ptrdiff_t end, const double* phi, const SeenRow& seen,
                LaneSum& misfit);

/// Copies a row.
void copy_row(std::ptrdiff_t begin, std::ptrdiff_t end, const Input& from, double* to);

/// Adds a b.
void dot_row(std::ptrdiff_t begin, std::ptrdiff_t end, const double* a, const double* b,
             LaneSum& sum);

} // namespace uzushio::phasefield
