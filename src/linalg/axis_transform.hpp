#pragma once

#include <cstddef>
#include <vector>

#include "linalg/equation.hpp"
#include "linalg/fftw.hpp"
#include "parallel/aligned_array.hpp"

namespace uzushio::linalg {

/// Columns in memory: row n of column c is values[n * row_stride + c * column_stride]. One of the
/// strides is 1.
template <class T> struct Columns {
    T* values;
    std::ptrdiff_t row_stride;
    std::ptrdiff_t column_stride;
    int count; ///< at most `AxisTransform::lanes`
};
inline Columns<const double> constant(const Columns<double>& c) {
    return {c.values, c.row_stride, c.column_stride, c.count};
}

/// Transform along one axis: real values at cell centres become real coefficients of the
/// eigenvectors of the second difference. It transforms `lanes` columns at a time. Columns
/// 2 n and 2 n + 1 are a pair: a result does not depend on other columns.
///
/// On a uniform axis these are discrete Fourier, cosine or sine transforms. Two columns are the
/// real and the imaginary part of one complex FFT, so that every kind is about as fast as a complex
/// FFT. On a stretched axis, which must not be periodic, columns are multiplied by a matrix.
///
/// Kinds by the conditions at the ends of a uniform axis: periodic: Fourier; equal: cosine
/// (Neumann) or sine (Dirichlet) of kind II; different: of kind IV. Source: J. Makhoul, IEEE Trans.
/// Acoust. Speech Signal Process. 28 (1980), for the cosine of kind II by an FFT of the same
/// length.
class AxisTransform {
  public:
    static constexpr int lanes = 16;

    explicit AxisTransform(const Axis& axis);

    /// Return the eigenvalue of the second difference for a row of the coefficients.
    [[nodiscard]] double eigenvalue(int row) const {
        return eigenvalues_[static_cast<std::size_t>(row)];
    }
    /// Return the factor by which inverse(forward(x)) must be multiplied to be x.
    [[nodiscard]] double scale() const { return scale_; }

    /// Transform columns; `from` and `to` may be the same.
    void forward(const Columns<const double>& from, const Columns<double>& to);
    /// Transform coefficients in place.
    void inverse(const Columns<double>& columns);

  private:
    enum class Kind { fourier, second, fourth, fourth_of_odd, matrix };

    /// Rows of `lanes` contiguous values.
    template <class T> struct Rows {
        T* values;
        std::ptrdiff_t stride;
        [[nodiscard]] T* operator[](int row) const { return values + row * stride; }
    };
    using Source = Rows<const double>;
    using Target = Rows<double>;

    template <class T> static bool is_contiguous(const Columns<T>& columns) {
        return columns.column_stride == 1 && columns.count == lanes;
    }
    [[nodiscard]] bool is_pairs() const { return kind_ == Kind::fourier || kind_ == Kind::second; }
    [[nodiscard]] Source source(const Columns<const double>& columns);
    void pairs_after_fft(Target to);
    void pairs_before_fft(Source from);
    void fourth(Source from, double sign_from, Target to, double sign_to);
    void set_matrices(const Axis& axis);
    /// Set `to` to a matrix times the rows of `work_`.
    void multiply(const std::vector<double>& matrix, Target to);

    [[nodiscard]] Target tile() { return {tile_.data(), lanes}; }
    [[nodiscard]] double* work(int row) { return work_.data() + std::ptrdiff_t{row} * lanes; }
    /// Return where row n is in the input of the FFT.
    [[nodiscard]] int position(int row) const {
        return kind_ == Kind::fourier ? row : row % 2 == 0 ? row / 2 : n_ - 1 - row / 2;
    }

    int n_;
    Kind kind_;
    double sign_of_odd_ = 1; ///< of odd rows: a sine transform is a cosine one with changed signs
    double scale_;
    std::vector<double> eigenvalues_;
    std::vector<double> cos_, sin_;               ///< after the FFT
    std::vector<double> cos_before_, sin_before_; ///< before the FFT, of kind IV
    parallel::AlignedArray<double> work_;         ///< [n][lanes]
    parallel::AlignedArray<double> tile_; ///< [n][lanes], of columns that are not contiguous
    std::vector<double> forward_matrix_, inverse_matrix_; ///< [row][column], of a stretched axis
    Plan forward_, inverse_;
};

} // namespace uzushio::linalg
