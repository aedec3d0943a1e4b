#include "linalg/axis_transform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "linalg/tridiagonal_eigenvectors.hpp"
#include "linalg/vector.hpp"

namespace uzushio::linalg {

namespace {

constexpr int lanes = AxisTransform::lanes;

/// Return a plan of complex FFTs in place, of rows with `columns` values each.
Plan plan_rows(parallel::AlignedArray<double>& work, int n, int columns, int sign) {
    auto* data = reinterpret_cast<fftw_complex*>(work.data());
    return Plan(fftw_plan_many_dft(1, &n, columns, data, nullptr, columns, 1, data, nullptr,
                                   columns, 1, sign, FFTW_ESTIMATE));
}

/// Two complex numbers, or four values of a row.
using Four = Vector<double>;

/// Return i z for both complex numbers.
Four times_i(const Four& z) {
    return __builtin_shufflevector(z, z, 1, 0, 3, 2) * Four{-1, 1, -1, 1};
}

/// Multiplication of complex numbers by exp(-i angle).
struct Turn {
    double cosine, sine;
    Four operator()(const Four& z) const { return cosine * z - sine * times_i(z); }
    [[nodiscard]] Four back(const Four& z) const { return cosine * z + sine * times_i(z); }
};

void copy_row(const double* from, double sign, double* to) {
    for (int l = 0; l < lanes; l += 4)
        store(sign * load<Four>(from + l), to + l);
}

/// Transpose a 4 by 4 matrix of rows a, b, c, d.
void transpose(Four& a, Four& b, Four& c, Four& d) {
    const Four ab_even = __builtin_shufflevector(a, b, 0, 4, 2, 6);
    const Four ab_odd = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    const Four cd_even = __builtin_shufflevector(c, d, 0, 4, 2, 6);
    const Four cd_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    a = __builtin_shufflevector(ab_even, cd_even, 0, 1, 4, 5);
    b = __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5);
    c = __builtin_shufflevector(ab_even, cd_even, 2, 3, 6, 7);
    d = __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7);
}

/// Copy `rows` rows of columns to rows of `lanes` contiguous values: row n to `row(n)`, times
/// `sign` if n is odd. Columns that are not there are zero.
template <class Row>
void load_columns(const Columns<const double>& columns, int rows, double sign, Row&& row) {
    if (columns.column_stride == 1 && columns.count == lanes) {
        for (int n = 0; n < rows; ++n)
            copy_row(columns.values + n * columns.row_stride, n % 2 ? sign : 1, row(n));
        return;
    }
    const bool blocks = columns.row_stride == 1;
    const int whole_rows = blocks ? rows / 4 * 4 : 0;
    const int whole_columns = blocks ? columns.count / 4 * 4 : 0;
    for (int n = 0; n < whole_rows; n += 4) {
        const std::array<double*, 4> to{row(n), row(n + 1), row(n + 2), row(n + 3)};
        for (int c = 0; c < whole_columns; c += 4) {
            const double* from = columns.values + n + c * columns.column_stride;
            Four v0 = load<Four>(from);
            Four v1 = load<Four>(from + columns.column_stride);
            Four v2 = load<Four>(from + 2 * columns.column_stride);
            Four v3 = load<Four>(from + 3 * columns.column_stride);
            transpose(v0, v1, v2, v3);
            store(v0, to[0] + c);
            store(sign * v1, to[1] + c);
            store(v2, to[2] + c);
            store(sign * v3, to[3] + c);
        }
    }
    for (int n = 0; n < rows; ++n)
        for (int c = n < whole_rows ? whole_columns : 0; c < lanes; ++c)
            row(n)[c] = c < columns.count
                            ? (n % 2 ? sign : 1) *
                                  columns.values[n * columns.row_stride + c * columns.column_stride]
                            : 0.0;
}

/// Copy rows of `lanes` contiguous values to columns, the reverse of `load_columns`.
template <class Row>
void store_columns(Row&& row, double sign, const Columns<double>& columns, int rows) {
    if (columns.column_stride == 1 && columns.count == lanes) {
        for (int n = 0; n < rows; ++n)
            copy_row(row(n), n % 2 ? sign : 1, columns.values + n * columns.row_stride);
        return;
    }
    const bool blocks = columns.row_stride == 1;
    const int whole_rows = blocks ? rows / 4 * 4 : 0;
    const int whole_columns = blocks ? columns.count / 4 * 4 : 0;
    for (int n = 0; n < whole_rows; n += 4) {
        const std::array<const double*, 4> from{row(n), row(n + 1), row(n + 2), row(n + 3)};
        for (int c = 0; c < whole_columns; c += 4) {
            Four v0 = load<Four>(from[0] + c);
            Four v1 = sign * load<Four>(from[1] + c);
            Four v2 = load<Four>(from[2] + c);
            Four v3 = sign * load<Four>(from[3] + c);
            transpose(v0, v1, v2, v3);
            double* to = columns.values + n + c * columns.column_stride;
            store(v0, to);
            store(v1, to + columns.column_stride);
            store(v2, to + 2 * columns.column_stride);
            store(v3, to + 3 * columns.column_stride);
        }
    }
    for (int n = 0; n < rows; ++n)
        for (int c = n < whole_rows ? whole_columns : 0; c < columns.count; ++c)
            columns.values[n * columns.row_stride + c * columns.column_stride] =
                (n % 2 ? sign : 1) * row(n)[c];
}

} // namespace

AxisTransform::AxisTransform(const Axis& axis)
    : n_(axis.cells()), scale_(0.5 / n_), work_(static_cast<std::size_t>(n_) * lanes),
      tile_(static_cast<std::size_t>(n_) * lanes) {
    if (!axis.uniform) {
        kind_ = Kind::matrix;
        scale_ = 1;
        set_matrices(axis);
        return;
    }
    if (!axis.used || axis.periodic())
        kind_ = Kind::fourier;
    else if (axis.ends[0] == axis.ends[1])
        kind_ = Kind::second;
    else
        kind_ = n_ % 2 == 0 ? Kind::fourth : Kind::fourth_of_odd;
    // A sine of kind II is a cosine of values with alternating signs, in the reverse order; so is
    // one of kind IV, Dirichlet at the lower end.
    const bool mixed = kind_ == Kind::fourth || kind_ == Kind::fourth_of_odd;
    const bool sine = kind_ != Kind::fourier && axis.ends[0] == Condition::dirichlet;
    sign_of_odd_ = sine ? -1 : 1;

    const double pi = std::numbers::pi;
    const double h = axis.widths[0];
    for (int row = 0; row < n_; ++row) {
        double angle = mixed ? pi * (row + 0.5) / n_ : pi * row / n_;
        if (kind_ == Kind::fourier)
            angle = 2 * pi * std::min(row, n_ - row) / n_;
        else if (sine)
            angle = pi - angle;
        const double root = std::sin(0.5 * angle);
        eigenvalues_.push_back(axis.used ? -4 * root * root / (h * h) : 0.0);
    }
    for (int k = 0; k <= n_ / 2; ++k) {
        const double angle = kind_ == Kind::second   ? 0.5 * pi * k / n_
                             : kind_ == Kind::fourth ? pi * k / n_
                                                     : 0.0;
        cos_.push_back(std::cos(angle));
        sin_.push_back(std::sin(angle));
        cos_before_.push_back(std::cos(pi * (4 * k + 1) / (4.0 * n_)));
        sin_before_.push_back(std::sin(pi * (4 * k + 1) / (4.0 * n_)));
    }
    // Estimated plans: the same on every rank and in every run.
    if (kind_ == Kind::fourth) {
        scale_ = 2.0 / n_;
        forward_ = plan_rows(work_, n_ / 2, lanes, FFTW_FORWARD);
    } else if (kind_ == Kind::fourth_of_odd) {
        const fftw_r2r_kind kind = FFTW_REDFT11;
        forward_ = Plan(fftw_plan_many_r2r(1, &n_, lanes, work_.data(), nullptr, lanes, 1,
                                           work_.data(), nullptr, lanes, 1, &kind, FFTW_ESTIMATE));
    } else {
        forward_ = plan_rows(work_, n_, lanes / 2, FFTW_FORWARD);
        inverse_ = plan_rows(work_, n_, lanes / 2, FFTW_BACKWARD);
    }
}

// With widths w and the integrated second difference K, which is symmetric, eigenvectors are those
// of the symmetric matrix w^-1/2 K w^-1/2, times w^-1/2.
void AxisTransform::set_matrices(const Axis& axis) {
    const auto n = static_cast<std::size_t>(n_);
    std::vector<double> diagonal(n), beside(n - 1), root(n);
    for (std::size_t i = 0; i < n; ++i) {
        root[i] = std::sqrt(axis.widths[i]);
        const int face = static_cast<int>(i);
        diagonal[i] =
            -(axis.reciprocal_distance(face) + axis.reciprocal_distance(face + 1)) / axis.widths[i];
    }
    for (std::size_t i = 0; i + 1 < n; ++i)
        beside[i] = axis.reciprocal_distance(static_cast<int>(i) + 1) / (root[i] * root[i + 1]);
    Eigenvectors eigenvectors = eigenvectors_of(std::move(diagonal), std::move(beside));
    if (axis.ends[0] == Condition::neumann && axis.ends[1] == Condition::neumann) {
        const double length = std::accumulate(axis.widths.begin(), axis.widths.end(), 0.0);
        eigenvectors.values[0] = 0; // of a constant
        for (std::size_t i = 0; i < n; ++i)
            eigenvectors.vectors[i] = root[i] / std::sqrt(length);
    }
    eigenvalues_ = std::move(eigenvectors.values);
    forward_matrix_.resize(n * n);
    inverse_matrix_.resize(n * n);
    for (std::size_t value = 0; value < n; ++value)
        for (std::size_t i = 0; i < n; ++i) {
            forward_matrix_[value * n + i] = eigenvectors.vectors[value * n + i] * root[i];
            inverse_matrix_[i * n + value] = eigenvectors.vectors[value * n + i] / root[i];
        }
}

void AxisTransform::multiply(const std::vector<double>& matrix, Target to) {
    constexpr int parts = lanes / 4;
    for (int row = 0; row < n_; row += 2) { // two rows for each load of a column's values
        const bool pair = row + 1 < n_;
        const double* first = matrix.data() + std::ptrdiff_t{row} * n_;
        const double* second = pair ? first + n_ : first;
        std::array<Four, parts> sum{}, other_sum{};
        for (int n = 0; n < n_; ++n) {
            const double* values = work(n);
            for (int part = 0; part < parts; ++part) {
                const Four four = load<Four>(values + 4 * part);
                sum[static_cast<std::size_t>(part)] += first[n] * four;
                other_sum[static_cast<std::size_t>(part)] += second[n] * four;
            }
        }
        for (int part = 0; part < parts; ++part) {
            store(sum[static_cast<std::size_t>(part)], to[row] + 4 * part);
            if (pair)
                store(other_sum[static_cast<std::size_t>(part)], to[row + 1] + 4 * part);
        }
    }
}

void AxisTransform::forward(const Columns<const double>& from, const Columns<double>& to) {
    const Target target = is_contiguous(to) ? Target{to.values, to.row_stride} : tile();
    if (kind_ == Kind::matrix) {
        load_columns(from, n_, 1, [this](int n) { return work(n); });
        multiply(forward_matrix_, target);
    } else if (is_pairs()) {
        load_columns(from, n_, sign_of_odd_, [this](int n) { return work(position(n)); });
        fftw_execute(forward_.get());
        pairs_after_fft(target);
    } else {
        fourth(source(from), sign_of_odd_, target, 1);
    }
    if (!is_contiguous(to))
        store_columns([&](int n) { return target[n]; }, 1, to, n_);
}

void AxisTransform::inverse(const Columns<double>& columns) {
    if (kind_ == Kind::matrix) {
        const Target target =
            is_contiguous(columns) ? Target{columns.values, columns.row_stride} : tile();
        load_columns(constant(columns), n_, 1, [this](int n) { return work(n); });
        multiply(inverse_matrix_, target);
        if (!is_contiguous(columns))
            store_columns([&](int n) { return target[n]; }, 1, columns, n_);
        return;
    }
    const Source from = source(constant(columns));
    if (is_pairs()) {
        pairs_before_fft(from);
        fftw_execute(inverse_.get());
        store_columns([this](int n) { return work(position(n)); }, sign_of_odd_, columns, n_);
    } else if (is_contiguous(columns)) {
        fourth(from, 1, {columns.values, columns.row_stride}, sign_of_odd_);
    } else {
        fourth(from, 1, tile(), sign_of_odd_);
        store_columns([this](int n) { return tile()[n]; }, 1, columns, n_);
    }
}

/// Return the rows of columns, which are copied if they are not contiguous.
AxisTransform::Source AxisTransform::source(const Columns<const double>& columns) {
    if (is_contiguous(columns))
        return {columns.values, columns.row_stride};
    load_columns(columns, n_, 1, [this](int n) { return tile()[n]; });
    return {tile_.data(), lanes};
}

// With V the FFT of the columns (two of them as one complex column), rows k and n - k become
// P + Q and i (P - Q), where P = V[k] exp(-i angle) and Q = V[n - k] exp(i angle). With angle 0
// these are cosine and sine sums of each column, with angle pi k / 2n its cosine transform.
void AxisTransform::pairs_after_fft(Target to) {
    for (int k = 0; 2 * k <= n_; ++k) {
        const int other = k == 0 ? 0 : n_ - k;
        const double* v = work(k);
        const double* w = work(other);
        double* lower = to[k];
        double* upper = to[other];
        const Turn turn{cos_[static_cast<std::size_t>(k)], sin_[static_cast<std::size_t>(k)]};
        for (int l = 0; l < lanes; l += 4) {
            const Four p = turn(load<Four>(v + l));
            const Four q = turn.back(load<Four>(w + l));
            if (other != k)
                store(times_i(p - q), upper + l);
            store(p + q, lower + l);
        }
    }
}

void AxisTransform::pairs_before_fft(Source from) {
    for (int k = 0; 2 * k <= n_; ++k) {
        const int other = k == 0 ? 0 : n_ - k;
        // Row n / 2 of a cosine transform is a sum and a difference at once.
        const double weight = other == k && (k == 0 || kind_ == Kind::fourier) ? 0.0 : 1.0;
        const double* lower = from[k];
        const double* upper = from[other];
        double* v = work(k);
        double* w = work(other);
        const Turn turn{cos_[static_cast<std::size_t>(k)], sin_[static_cast<std::size_t>(k)]};
        for (int l = 0; l < lanes; l += 4) {
            const Four a = load<Four>(lower + l);
            const Four ib = weight * times_i(load<Four>(upper + l));
            store(turn(a + ib), w + l);
            store(turn.back(a - ib), v + l);
        }
    }
}

// The transform is its own inverse. Rows 2 k and n - 1 - 2 k are the real and the imaginary part
// of an FFT of half the length.
void AxisTransform::fourth(Source from, double sign_from, Target to, double sign_to) {
    if (kind_ == Kind::fourth_of_odd) {
        for (int n = 0; n < n_; ++n)
            copy_row(from[n], n % 2 ? sign_from : 1, work(n));
        fftw_execute(forward_.get());
        for (int n = 0; n < n_; ++n)
            copy_row(work(n), n % 2 ? sign_to : 1, to[n]);
        return;
    }
    for (int k = 0; k < n_ / 2; ++k) {
        const double* __restrict a = from[2 * k];
        const double* __restrict b = from[n_ - 1 - 2 * k];
        double* __restrict t = work(2 * k);
        const double c = cos_before_[static_cast<std::size_t>(k)];
        const double s = sign_from * sin_before_[static_cast<std::size_t>(k)];
        const double signed_c = sign_from * c;
        const double plain_s = sin_before_[static_cast<std::size_t>(k)];
        for (int l = 0; l < lanes; ++l) {
            t[2 * l] = c * a[l] + s * b[l];
            t[2 * l + 1] = signed_c * b[l] - plain_s * a[l];
        }
    }
    fftw_execute(forward_.get());
    for (int k = 0; k < n_ / 2; ++k) {
        const double* __restrict t = work(2 * k);
        double* __restrict a = to[2 * k];
        double* __restrict b = to[n_ - 1 - 2 * k];
        const double c = cos_[static_cast<std::size_t>(k)];
        const double s = sin_[static_cast<std::size_t>(k)];
        for (int l = 0; l < lanes; ++l) {
            a[l] = c * t[2 * l] + s * t[2 * l + 1];
            b[l] = sign_to * (s * t[2 * l] - c * t[2 * l + 1]);
        }
    }
}

} // namespace uzushio::linalg
