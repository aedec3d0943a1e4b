#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/halo_exchange.hpp"
#include "linalg/closed_regions.hpp"
#include "linalg/equation.hpp"
#include "linalg/rows.hpp"
#include "linalg/slabs.hpp"
#include "linalg/staged_pass.hpp"
#include "linalg/stencil_row.hpp"
#include "linalg/threads.hpp"
#include "linalg/vector.hpp"
#include "parallel/compensated_sum.hpp"
#include "parallel/section_monitor.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::linalg {

/// Operator A x = div(b grad x) - s x of an equation, on cell-centred fields with ghost layers
/// (those of `field`). Functions are collective. No value depends on the number of ranks or
/// threads: OpenMP threads share the planes of large blocks.
///
/// With several ghost layers, cells near the edge of a block are computed by both blocks, so that
/// several stages need one exchange (`for_stages`).
///
/// T: double or float.
template <class T> class GridOperator {
  public:
    using Field = domain::Field<T>;

    /// `traffic` and `sections` must outlive the operator. `ghosts`: layers of the fields. Throws
    /// as `axes_of`, and `std::invalid_argument` if b is not a face-centred field of the
    /// decomposition with one component.
    GridOperator(MPI_Comm comm, const Equation& equation, parallel::Traffic& traffic,
                 parallel::SectionMonitor& sections, int ghosts = 1);

    [[nodiscard]] const domain::Decomposition& decomposition() const {
        return *equation_.decomposition;
    }
    [[nodiscard]] const std::array<Axis, 3>& axes() const { return axes_; }
    /// Return whether constants solve the homogeneous equation, at least in a closed region.
    [[nodiscard]] bool singular() const { return singular_ || !regions_.empty(); }
    [[nodiscard]] MPI_Comm comm() const { return comm_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int ghosts() const { return spec_.ghosts; }
    /// Return the threads that share this rank's rows.
    [[nodiscard]] int threads() const { return static_cast<int>(buffers_.size()); }
    /// Return whether a block may compute ghosts as their owner does: neighbours have different
    /// colours, also across the ends of periodic axes.
    [[nodiscard]] bool computes_ghosts() const { return spec_.ghosts > 1 && colours_alternate_; }
    /// Return a field of zeros.
    [[nodiscard]] Field field() const { return Field(decomposition(), rank_, spec_); }

    /// Return a section for a pass over this rank's cells in which each cell reads and writes
    /// `values` values of type T; the values of b come in addition if `uses_b`, and with
    /// `uses_inverse` those of the reciprocals of the diagonal.
    [[nodiscard]] parallel::Section section(std::string_view name, double values,
                                            bool uses_b = false, bool uses_inverse = false) const {
        double all = values;
        if (b_)
            all += (uses_b ? static_cast<double>(b_->arrays()) : 0.0) + (uses_inverse ? 1.0 : 0.0);
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
    /// Set r = f - A x, and return its norm. `R`: double or float; r may have other ghost layers.
    template <class R>
    [[nodiscard]] double residual_norm(Field& x, const Field& f, domain::Field<R>& r);

    /// Relax the cells in which i + j + k is even (colour 0) or odd (1), neighbours of one colour
    /// one after the other: x moves by `omega` times the way to the solution of a cell's equation.
    void relax(Field& x, const Field& f, int colour, T omega);
    /// Set a row of r to f - A x and add the integral of its square, without an exchange.
    template <class Row, class R>
    void residual_row(const Row& row, const T* x, const T* f, R* r,
                      parallel::CompensatedSum& sum) const;
    /// Set a row of y to A x and add the integral of x y, without an exchange.
    template <class Row>
    void apply_row(const Row& row, const T* x, T* y, parallel::CompensatedSum& sum) const;

    /// Relax the cells of one colour in a row, without an exchange. `x`, `f`: the first cells of
    /// the row.
    template <class Row>
    void relax_row(const Row& row, T* x, const T* f, int colour, T omega) const;
    /// Set a row of x to the relaxation of colour 0 from x = 0.
    template <class Row> void relax_zero_row(const Row& row, T* x, const T* f, T omega) const;
    /// Set y to a relaxation of all cells of x at once.
    void jacobi(Field& x, const Field& f, Field& y, T omega);

    /// Return this rank's part of the integral of a b over the mesh.
    [[nodiscard]] parallel::CompensatedSum partial_dot(const Field& a, const Field& b) const;
    /// Return the integral of a b over the mesh, the same on any number of ranks.
    [[nodiscard]] double dot(const Field& a, const Field& b) const {
        const auto pass = section("reductions", &a == &b ? 1 : 2);
        return parallel::sum_over_ranks(partial_dot(a, b), comm_);
    }
    /// Subtract the mean of x over all cells that are not isolated; over each closed region, if
    /// there are such.
    void remove_mean(Field& x) const;
    /// Throw `std::invalid_argument` on all ranks if f is not 0 in an isolated cell, or has more
    /// mean than round-off where `remove_mean` subtracts one; subtract what it has.
    void check_compatibility(Field& f) const;
    /// Set x to 0 in isolated cells: s is 0, and b is 0 on all faces of the cell.
    void clear_isolated(Field& x) const;

    /// Add the integral of `term(n)` over a row of cells.
    template <class Row, class Term>
    void add_integral(parallel::CompensatedSum& sum, const Row& row, Term&& term) const {
        const double* width = axes_[0].widths.data() + row.begin;
        const double across = axes_[1].widths[static_cast<std::size_t>(row.j)] *
                              axes_[2].widths[static_cast<std::size_t>(row.k)];
        sum.add(0, static_cast<int>(row.size), [&](int n) { return width[n] * across * term(n); });
    }

    /// Call `visit(thread, block, cells)` for each part of this rank's cells, at the same time on
    /// the threads that share them.
    template <class Visit> void for_slabs(Visit&& visit) const {
        for (std::size_t block = 0; block < shape_.blocks(); ++block) {
            const Slabs slabs(shape_.owned(block), threads());
            on_threads(threads(), slabs.count(), [&](int thread) {
                visit(thread, block, slabs.part(shape_.owned(block), thread));
            });
        }
    }
    /// Call `visit` with the stencil of each row of this rank's cells: a `ConstantRow<T>` or a
    /// `VariableRow<T>`. Threads visit rows at the same time; those of a pair, 2 n and 2 n + 1
    /// along j and k, are visited by one thread, in the order of j, then k.
    template <class Visit> void for_rows(Visit&& visit) const {
        for_slabs([&](int thread, std::size_t block, const domain::Box<3>& cells) {
            visit_rows(thread, block, cells, visit);
        });
    }
    /// The same for visits that change their row and read rows beside it, of which they need no
    /// value that the visits of those rows change.
    template <class Visit> void for_rows_in_place(Visit&& visit) const {
        if (threads() == 1)
            return for_rows(visit);
        // No thread reads a row while another one changes it.
        constexpr std::array layers{0, 0};
        for_stages(layers, [&](std::int64_t stage, const auto& row) {
            if (stage == 1)
                visit(row);
        });
    }
    /// Call `visit(row, sums)` for each row, and return the sums of this rank.
    template <std::size_t Count, class Visit>
    std::array<parallel::CompensatedSum, Count> sums_of_rows(Visit&& visit) const {
        using Sums = std::array<parallel::CompensatedSum, Count>;
        std::array<ThreadSums, Count> all;
        all.fill(ThreadSums(threads()));
        for_slabs([&](int thread, std::size_t block, const domain::Box<3>& cells) {
            Sums sums; // stay in registers
            const auto add = [&](const auto& row) { visit(row, sums); };
            visit_rows(thread, block, cells, add);
            for (std::size_t i = 0; i < Count; ++i)
                all[i][thread].add(sums[i]);
        });
        Sums totals;
        for (std::size_t i = 0; i < Count; ++i)
            totals[i] = all[i].total();
        return totals;
    }
    /// Call `visit(row, sum)` for each row, and return the sum of this rank.
    template <class Visit> parallel::CompensatedSum sum_of_rows(Visit&& visit) const {
        return sums_of_rows<1>([&](const auto& row, auto& sums) { visit(row, sums[0]); })[0];
    }
    /// Copy the cells of a field to a field on the same blocks; values and ghosts may differ.
    template <class From, class To>
    void copy(const domain::Field<From>& from, domain::Field<To>& to) const {
        for_slabs([&](int, std::size_t block, const domain::Box<3>& cells) {
            copy_cells(from.view(block), to.view(block), cells);
        });
    }

    /// Call `visit(stage, row)` for each stage and each row of this rank's blocks, in one traversal
    /// in which a row is visited by all stages while it is in cache. Stage n is visited in the
    /// cells of a block and `layers[n]` of its ghost layers; layers must not increase. A stage but
    /// the first may read rows beside its own as the stage before left them, and change its own
    /// row; where those beside it are in the same stage already, that must make no difference.
    /// Threads share rows as in `for_rows`.
    template <class Visit> void for_stages(std::span<const int> layers, Visit&& visit) const {
        for (std::size_t block = 0; block < shape_.blocks(); ++block)
            for_stages(block, layers, visit);
    }

    /// Return the first cell of a row in a field's values.
    template <class Row> static T* row_of(Field& x, const Row& row) {
        return x.view(row.block).data() + row.at;
    }
    template <class Row> static const T* row_of(const Field& x, const Row& row) {
        return x.view(row.block).data() + row.at;
    }

    /// Return the first cell of a row in a field on the same blocks with any ghost layers.
    template <class Values, class Row> static auto* first_of(Values& field, const Row& row) {
        const auto view = field.view(row.block);
        return view.data() + view.offset({row.begin, row.j, row.k});
    }

  private:
    /// Coefficients of fluxes along one axis, over the cell's width. Value `cell + ghosts` is that
    /// of a cell or, along a periodic axis, of a ghost.
    struct Couplings {
        std::vector<T> lower, upper;         ///< to the neighbouring cells; 0 at a boundary
        std::vector<T> lower_all, upper_all; ///< to these, or to the value at a boundary
        std::vector<T> centre;               ///< sum of the latter
    };
    /// Relax a colour where neighbours across the ends of a periodic axis may have it both.
    void relax_across_ends(Field& x, const Field& f, int colour, T omega);
    void set_couplings();
    void set_coefficient(std::shared_ptr<const domain::Field<double>> b,
                         parallel::Traffic& traffic);
    void set_inverse();
    /// Return the row of the cells of a box at j and k.
    [[nodiscard]] ConstantRow<T> constant_row(int thread, std::size_t block,
                                              const domain::Box<3>& cells, std::int64_t j,
                                              std::int64_t k) const;
    [[nodiscard]] VariableRow<T> variable_row(int thread, std::size_t block,
                                              const domain::Box<3>& cells, std::int64_t j,
                                              std::int64_t k) const;
    template <class Visit>
    void visit_row(int thread, std::size_t block, const domain::Box<3>& cells, std::int64_t j,
                   std::int64_t k, Visit& visit) const {
        if (b_)
            visit(variable_row(thread, block, cells, j, k));
        else
            visit(constant_row(thread, block, cells, j, k));
    }
    /// Visit the rows of a box.
    template <class Visit>
    void visit_rows(int thread, std::size_t block, const domain::Box<3>& cells,
                    Visit& visit) const {
        for (std::int64_t k = cells.lower[2]; k < cells.upper[2]; ++k)
            for (std::int64_t j = cells.lower[1]; j < cells.upper[1]; ++j)
                visit_row(thread, block, cells, j, k, visit);
    }
    template <class Visit>
    void for_stages(std::size_t block, std::span<const int> layers, Visit& visit) const;
    /// Return the cells of a block and `layers` of its ghost layers, without those beyond
    /// boundaries.
    [[nodiscard]] domain::Box<3> grown(std::size_t block, int layers) const;
    /// Return the rows of a tile whose planes, as many as stages need at a time, stay in cache.
    [[nodiscard]] std::int64_t rows_of_tile(const domain::Box<3>& cells, std::size_t stages) const;
    /// Return the reciprocals of the diagonal in a row.
    const T* inverse_of_row(const ConstantRow<T>& row) const;
    const T* inverse_of_row(const VariableRow<T>& row) const {
        return inverse_of_block_[row.block] + row.at;
    }
    /// Return ones in the cells of one colour in a row, zeros in the others.
    [[nodiscard]] const T* chosen_in(const ConstantRow<T>& row, int colour) const {
        return chosen_.data() + ((row.begin + row.j + row.k + colour) & 1);
    }
    [[nodiscard]] T s() const { return static_cast<T>(equation_.s); }
    /// Find the isolated cells and the volume of the others.
    void find_isolated();
    /// Subtract the mean, from its integral, in all cells that are not isolated.
    void subtract_mean(double sum, Field& x) const;
    /// Return the sum over this rank's cells of `value(row)(n)` times the cell's volume.
    template <class Value> [[nodiscard]] parallel::CompensatedSum integral(Value&& value) const;

    MPI_Comm comm_;
    int rank_;
    Equation equation_;
    std::array<Axis, 3> axes_;
    bool singular_;
    domain::FieldSpec spec_;
    bool colours_alternate_ = true;
    Field shape_; ///< boxes and strides of the fields; its values are not used
    std::array<Couplings, 3> couplings_;
    std::vector<T> chosen_;              ///< 1, 0, 1, 0 …: cells of one colour in a row
    std::vector<domain::View<T>> views_; ///< of the blocks of `shape_`
    std::shared_ptr<const Field> b_;     ///< face-centred; null: 1
    std::vector<std::array<domain::View<const T>, 3>> b_of_block_; ///< along each axis
    std::shared_ptr<const Field> inverse_; ///< with b: reciprocals of the diagonal
    std::vector<const T*> inverse_of_block_;
    /// Work arrays of a row, of one thread.
    struct alignas(64) RowBuffers {
        std::vector<T> residual;
        std::vector<T> inverse; ///< reciprocals of the diagonal for `centre_jk`
        T centre_jk = -1;
    };
    mutable std::vector<RowBuffers> buffers_; ///< one a thread
    domain::HaloExchange<T> halo_;
    parallel::SectionMonitor* sections_;
    double cells_ = 0;                                ///< of this rank
    std::vector<std::vector<std::int64_t>> isolated_; ///< cells of each block, in a field's values
    double volume_ = 0;                               ///< of all other cells
    ClosedRegions regions_;                           ///< of an operator in double precision
};

template <class T>
template <class Visit>
void GridOperator<T>::for_stages(std::size_t block, std::span<const int> layers,
                                 Visit& visit) const {
    std::vector<domain::Box<3>> boxes;
    for (const int count : layers)
        boxes.push_back(grown(block, count));
    const std::int64_t rows = rows_of_tile(boxes.front(), layers.size());
    StagedPass pass(std::move(boxes), rows, threads());
    pass.run([&](int thread, std::int64_t stage, const domain::Box<3>& cells, std::int64_t j,
                 std::int64_t k) {
        const auto visit_stage = [&](const auto& row) { visit(stage, row); };
        visit_row(thread, block, cells, j, k, visit_stage);
    });
}

template <class T>
template <class Row>
void GridOperator<T>::relax_row(const Row& of, T* __restrict in, const T* __restrict right,
                                int colour, T omega) const {
    const T* chosen = chosen_in(of, colour);
    const T* inverse = inverse_of_row(of);
    const Row row = of; // a copy stays in registers unless its address is taken
    // A cell of the other colour keeps its value.
    const auto relaxed = [&]<class V>(std::int64_t n, V factor) __attribute__((always_inline)) {
        const V x = load<V>(in + n);
        const V value =
            (row.template neighbours<V>(in + n, n) - load<V>(right + n)) * load<V>(inverse + n);
        return x + factor * (value - x);
    };
    constexpr auto lanes = static_cast<std::int64_t>(sizeof(Vector<T>) / sizeof(T));
    const std::int64_t whole = row.size - row.size % lanes;
    for (std::int64_t n = whole; n < row.size; ++n)
        in[n] = relaxed(n, omega * chosen[n]);
    if (whole == 0)
        return;
    // A vector is stored when the next one has been computed: a load that overlaps a recent store
    // waits for it.
    const Vector<T> factor = omega * load<Vector<T>>(chosen);
    Vector<T> last = relaxed(0, factor);
    for (std::int64_t n = lanes; n < whole; n += lanes) {
        const Vector<T> next = relaxed(n, factor);
        store(last, in + n - lanes);
        last = next;
    }
    store(last, in + whole - lanes);
}

template <class T>
template <class Row, class R>
void GridOperator<T>::residual_row(const Row& of, const T* __restrict x, const T* __restrict f,
                                   R* __restrict r, parallel::CompensatedSum& sum) const {
    const Row row = of;
    T* __restrict value = buffers_[static_cast<std::size_t>(row.thread)].residual.data();
#pragma omp simd
    for (std::int64_t n = 0; n < row.size; ++n) {
        value[n] = f[n] - row.neighbours(x + n, n) + row.centre(n) * x[n];
        r[n] = static_cast<R>(value[n]);
    }
    add_integral(sum, row, [&](int n) {
        return static_cast<double>(value[n]) * static_cast<double>(value[n]);
    });
}

template <class T>
template <class Row>
void GridOperator<T>::apply_row(const Row& of, const T* __restrict x, T* __restrict y,
                                parallel::CompensatedSum& sum) const {
    const Row row = of;
#pragma omp simd
    for (std::int64_t n = 0; n < row.size; ++n)
        y[n] = row.neighbours(x + n, n) - row.centre(n) * x[n];
    add_integral(sum, row,
                 [&](int n) { return static_cast<double>(x[n]) * static_cast<double>(y[n]); });
}

template <class T>
template <class Row>
void GridOperator<T>::relax_zero_row(const Row& row, T* __restrict out, const T* __restrict right,
                                     T omega) const {
    const T* __restrict chosen = chosen_in(row, 0);
    const T* __restrict inverse = inverse_of_row(row);
#pragma omp simd
    for (std::int64_t n = 0; n < row.size; ++n)
        out[n] = -omega * chosen[n] * right[n] * inverse[n];
}

extern template class GridOperator<double>;
extern template class GridOperator<float>;

} // namespace uzushio::linalg
