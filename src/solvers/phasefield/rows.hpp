#pragma once

#include <cstddef>
#include <limits>

#include "solvers/phasefield/lanes.hpp"

/// The sweeps' kernels on a piece [begin, end) of a row. Element [x] of each pointer is column x.
/// Optional pointers are tested once per piece. Equation numbers here and in the rest of the room
/// are those of docs/theory/phasefield.md.
namespace uzushio::phasefield {

/// Known parameters of the scheme.
struct SchemeParameters {
    double diffusion = 0.0; ///< a = ε² Δt / (τ h²)
    double reaction = 0.0;  ///< b = Δt / τ
    bool periodic = false;  ///< along both axes; else zero-flux edges
};

/// Coefficients of a step, with m and a perturbation of it.
struct Coefficients {
    double a = 0.0;
    double b = 0.0;
    double m = 0.0;
    double dm = 0.0;
};

/// Three input rows of the field and the output row.
struct FivePointRows {
    const double* below;
    const double* here;
    const double* above;
    double* out;

    /// Sum of the neighbours minus four times the point.
    template <class Part>
    [[nodiscard]] UZUSHIO_INLINE Lanes laplacian(std::ptrdiff_t x, Part part,
                                                 const Neighbours& neighbours) const {
        const Lanes across = neighbours.left + neighbours.right;
        const Lanes around = across + (part.load(below + x) + part.load(above + x));
        return fused(broadcast(-4.0), neighbours.centre, around);
    }
};

/// Prefetch distance of inputs, in rows.
inline constexpr std::ptrdiff_t prefetch_rows = 1;

/// Input row with a software prefetch at distance `ahead`: the rows of a tile are too short for the
/// hardware prefetcher.
struct PrefetchedRow {
    const double* values = nullptr;
    std::ptrdiff_t ahead = 0;

    explicit operator bool() const { return values != nullptr; }

    template <class Part>
    [[nodiscard]] UZUSHIO_INLINE Lanes load(std::ptrdiff_t x, Part part) const {
        __builtin_prefetch(values + x + ahead, 0, 0);
        return part.load(values + x);
    }
};

/// Observed row: values, and weights, or a uniform weight if `weights` is null. `values` is null if
/// the row is not observed. Larger residuals than `huber` standard deviations count linearly: for a
/// residual r with the weight w, ψ is r limited to ± huber / √w, and ψ (2r − ψ) takes the place of
/// r² in the misfit, ψ that of r in its derivative (P. J. Huber, Ann. Math. Stat. 35 (1964)).
struct ObservedRow {
    PrefetchedRow values;
    PrefetchedRow weights;
    double weight = 0.0;
    double huber = std::numeric_limits<double>::infinity();
};

/// Equation (2). Store the input row to `keep`, non-temporally, unless it is null; add (φ − y)² of
/// the output row to `misfit`, times the weights if there are any.
void forward_row(const Coefficients& c, const FivePointRows& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, double* keep, const ObservedRow& observed, LaneSum& misfit);

/// Equation (2) for `count` rows, `stride` values apart, without the rest.
void forward_rows(const Coefficients& c, FivePointRows rows, std::ptrdiff_t begin,
                  std::ptrdiff_t end, int count, std::ptrdiff_t stride);

/// Sums over the points of an adjoint sweep.
struct AdjointSums {
    LaneSum gradient; ///< φ (1 − φ) λ, the terms of (6) without b
    LaneSum misfit;   ///< (φ − y)² of the output step, as in `forward_row`
};

/// Terms of `AdjointSums` to add.
enum class AdjointTerms { none, gradient, gradient_and_misfit };

/// Equation (5). `phi` and `observed` are of the output step.
void adjoint_row(const Coefficients& c, const FivePointRows& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, const PrefetchedRow& phi, double* keep,
                 const ObservedRow& observed, AdjointTerms terms, AdjointSums& sums);

/// Equation (7). `phi` is of the input step.
void tangent_row(const Coefficients& c, const FivePointRows& rows, std::ptrdiff_t begin,
                 std::ptrdiff_t end, const PrefetchedRow& phi, double* keep);

/// Equation (8); add the terms of (9) without b to `gradient` unless it is null. `lambda` is λ of
/// the input step, or null for the Gauss-Newton part. `observed.huber` takes no part: the weights
/// are 0 where the misfit is linear.
void second_order_row(const Coefficients& c, const FivePointRows& rows, std::ptrdiff_t begin,
                      std::ptrdiff_t end, const PrefetchedRow& phi, const PrefetchedRow& dphi,
                      const PrefetchedRow& lambda, const ObservedRow& observed, LaneSum* gradient);

/// Add the misfit terms of `forward_row` for the row `phi`.
void misfit_row(std::ptrdiff_t begin, std::ptrdiff_t end, const double* phi,
                const ObservedRow& observed, LaneSum& misfit);

/// Copy a row.
void copy_row(std::ptrdiff_t begin, std::ptrdiff_t end, const PrefetchedRow& from, double* to);

} // namespace uzushio::phasefield
