#pragma once

#include <vector>

namespace uzushio::linalg {

/// Eigenvalues of a symmetric matrix, from the largest to the smallest, with orthonormal vectors.
struct Eigenvectors {
    std::vector<double> values;
    std::vector<double> vectors; ///< [value][row]
};

/// Return the eigenvectors of a tridiagonal matrix: `beside[i]` couples rows i and i + 1. Takes of
/// the order of n³ operations. Throws `std::runtime_error` if iterations do not converge (entries
/// are not finite).
///
/// Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th edition (2013), algorithms 8.3.2
/// and 8.3.3: implicit QR steps with Wilkinson's shift.
[[nodiscard]] Eigenvectors eigenvectors_of(std::vector<double> diagonal,
                                           std::vector<double> beside);

} // namespace uzushio::linalg
