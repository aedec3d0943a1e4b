#pragma once

#include <mpi.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/halo_exchange.hpp"
#include "linalg/equation.hpp"
#include "linalg/stencil_row.hpp"
#include "parallel/compensated_sum.hpp"
#include "parallel/section_monitor.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::linalg {

/// Operator A x = div(b grad x) - s x of an equation, on cell-centred fields with one ghost layer
/// (those of `field`). Functions are collective. No value depends on the number of ranks.
///
/// T: double or float.
template <class T> class GridOperator {
  public:
    using Field = domain::Field<T>;

    /// `traffic` and `sections` must outlive the operator. Throws as `axes_of`, and
    /// `std::invalid_argument` if b is not a face-centred field of the decomposition with one
    /// component.
    GridOperator(MPI_Comm comm, const Equation& equation, parallel::Traffic& traffic,
                 parallel::SectionMonitor& sections);

    [[nodiscard]] const domain::Decomposition& decomposition() const {
        return *equation_.decomposition;
    }
    [[nodiscard]] const std::array<Axis, 3>& axes() const { return axes_; }
    [[nodiscard]] bool singular() const { return singular_; }
    [[nodiscard]] MPI_Comm comm() const { return comm_; }
    [[nodiscard]] int rank() const { return rank_; }
    /// Return a field of zeros.
    [[nodiscard]] Field field() const { return Field(decomposition(), rank_, spec_); }

    /// Return a section for a pass over this rank's cells in which each cell reads and writes
    /// `values` values of type T; the values of b come in addition if `uses_b`.
    [[nodiscard]] parallel::Section section(std::string_view name, double values,
                                            bool uses_b = false) const {
        const double all = values + (uses_b && b_ ? static_cast<double>(b_->arrays()) : 0.0);
        return {*sections_, name, {.bytes = all * cells_ * sizeof(T)}};
    }

    void exchange(Field& x) {
        const parallel::Section section(*sections_, "halo exchange");
        halo_.exchange(x);
    }
    /// Set y = A x.
    void apply(Field& x, Field& y);
    /// Set r = f - A x.
    void residual(Field& x, const Field& f, Field& r);

    /// Relax the cells in which i + j + k is even (colour 0) or odd (1): x moves by `omega` times
    /// the way to the solution of the cell's equation.
    void relax(Field& x, const Field& f, int colour, T omega);
    /// Set x to `relax` of colour 0 from x = 0.
    void relax_zero(Field& x, const Field& f, T omega) const;
    /// Set y to a relaxation of all cells of x at once.
    void jacobi(Field& x, const Field& f, Field& y, T omega);

    /// Return this rank's part of the integral of a b over the mesh.
    [[nodiscard]] parallel::CompensatedSum partial_dot(const Field& a, const Field& b) const;
    /// Return the integral of a b over the mesh, the same on any number of ranks.
    [[nodiscard]] double dot(const Field& a, const Field& b) const {
        const auto pass = section("reductions", &a == &b ? 1 : 2);
        return parallel::sum_over_ranks(partial_dot(a, b), comm_);
    }
    /// Subtract the mean of x over all cells that are not isolated.
    void remove_mean(Field& x) const;
    /// Throw `std::invalid_argument` on all ranks if f is not 0 in an isolated cell or, if the
    /// equation is singular, if f has a mean.
    void check_compatibility(const Field& f) const;
    /// Set x to 0 in isolated cells: s is 0, and b is 0 on all faces of the cell.
    void clear_isolated(Field& x) const;

    /// Call `visit` with the stencil of each row of this rank's cells: a `ConstantRow<T>` or a
    /// `VariableRow<T>`.
    template <class Visit> void for_rows(Visit&& visit) const {
        for (std::size_t block = 0; block < shape_.blocks(); ++block) {
            const auto& cells = shape_.owned(block);
            for (std::int64_t k = cells.lower[2]; k < cells.upper[2]; ++k)
                for (std::int64_t j = cells.lower[1]; j < cells.upper[1]; ++j)
                    if (b_)
                        visit(variable_row(block, j, k));
                    else
                        visit(constant_row(block, j, k));
        }
    }
    /// Return the first cell of a row in a field's values.
    template <class Row> static T* row_of(Field& x, const Row& row) {
        return x.view(row.block).data() + row.at;
    }
    template <class Row> static const T* row_of(const Field& x, const Row& row) {
        return x.view(row.block).data() + row.at;
    }

  private:
    /// Coefficients of fluxes along one axis, over the cell's width.
    struct Couplings {
        std::vector<T> lower, upper;         ///< to the neighbouring cells; 0 at a boundary
        std::vector<T> lower_all, upper_all; ///< to these, or to the value at a boundary
        [[nodiscard]] T centre(std::int64_t cell) const {
            const auto c = static_cast<std::size_t>(cell);
            return lower_all[c] + upper_all[c];
        }
    };
    static domain::FieldSpec spec_of() { return {.name = "x", .ghosts = 1}; }
    void set_coefficient(std::shared_ptr<const domain::Field<double>> b);
    [[nodiscard]] ConstantRow<T> constant_row(std::size_t block, std::int64_t j,
                                              std::int64_t k) const;
    [[nodiscard]] VariableRow<T> variable_row(std::size_t block, std::int64_t j,
                                              std::int64_t k) const;
    [[nodiscard]] T s() const { return static_cast<T>(equation_.s); }
    /// Count the isolated cells and the volume of the others.
    void find_isolated();
    /// Return the sum over this rank's cells of `value(row)(n)` times the cell's volume.
    template <class Value> [[nodiscard]] parallel::CompensatedSum integral(Value&& value) const;

    MPI_Comm comm_;
    int rank_;
    Equation equation_;
    std::array<Axis, 3> axes_;
    bool singular_;
    domain::FieldSpec spec_ = spec_of();
    Field shape_; ///< boxes and strides of the fields; its values are not used
    std::array<Couplings, 3> couplings_;
    std::vector<T> centre_i_;
    std::vector<T> chosen_;          ///< 1, 0, 1, 0 …: cells of one colour in a row
    std::vector<T> change_;          ///< of a row, by a relaxation
    std::shared_ptr<const Field> b_; ///< face-centred; null: 1
    domain::HaloExchange<T> halo_;
    parallel::SectionMonitor* sections_;
    double cells_ = 0;    ///< of this rank
    double isolated_ = 0; ///< cells of all ranks
    double volume_ = 0;   ///< of all other cells
};

extern template class GridOperator<double>;
extern template class GridOperator<float>;

} // namespace uzushio::linalg
