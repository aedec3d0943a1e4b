#include "linalg/fft_solver.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "domain/redistribution.hpp"
#include "domain/strided_copy.hpp"
#include "linalg/axis_transform.hpp"
#include "linalg/mode_columns.hpp"
#include "parallel/block.hpp"
#include "parallel/communicator.hpp"
#include "parallel/section_names.hpp"

namespace uzushio::linalg {

namespace {

using domain::Box;
using domain::Index;
using domain::Part;
using domain::View;
using Order = std::array<std::size_t, 3>;
using Views = std::vector<View<double>>; ///< of this rank's parts
using ConstViews = std::vector<View<const double>>;

/// Cells along a stretched axis up to which a matrix transforms it fast. With twice as many the
/// set-up, of the order of n³, takes longer than many solutions by conjugate gradients.
constexpr int longest_matrix = 512;

ConstViews constant(const Views& views) { return {views.begin(), views.end()}; }

/// Return the axis of the tridiagonal systems: a periodic stretched one, or else the stretched one
/// with the most cells, or else k. In two dimensions k, whose systems are trivial, is faster than a
/// stretched axis for which a matrix is small, because transforms are of 16 columns at a time.
std::size_t tridiagonal_axis(const std::array<Axis, 3>& axes) {
    std::size_t best = 2;
    const auto rank = [&](std::size_t a) {
        const bool matrix = axes[a].uniform || (!axes[2].used && !axes[a].periodic() &&
                                                axes[a].cells() <= longest_matrix);
        return matrix ? std::pair(0, 0) : std::pair(axes[a].periodic() ? 2 : 1, axes[a].cells());
    };
    for (const std::size_t a : {1UL, 0UL})
        if (rank(a) > rank(best))
            best = a;
    return best;
}

/// Return the axes in the order in which the solver uses them: two that it transforms, and that of
/// the tridiagonal systems.
Order order_of(const std::array<Axis, 3>& axes) {
    const std::size_t last = tridiagonal_axis(axes);
    return {last == 0 ? 1UL : 0UL, last == 2 ? 1UL : 2UL, last};
}

Index<3> permute(const Index<3>& index, const Order& order) {
    return {index[order[0]], index[order[1]], index[order[2]]};
}
Box<3> permute(const Box<3>& box, const Order& order) {
    return {permute(box.lower, order), permute(box.upper, order)};
}

/// Array without ghosts of a box.
class Array {
  public:
    Array() = default;
    explicit Array(const Box<3>& box) : box_(box), values_(std::size_t(box.volume())) {}
    [[nodiscard]] View<double> view() { return {values_.data(), box_, 1}; }
    [[nodiscard]] std::size_t bytes() const { return values_.bytes(); }

  private:
    Box<3> box_{};
    parallel::AlignedArray<double> values_;
};

/// Parts of all ranks in one stage of the solve: one axis is complete, the others are cut.
class Layout {
  public:
    /// Cut the cells into `counts[a]` parts along each axis; ranks beyond their product have none.
    Layout(const Index<3>& cells, const std::array<int, 3>& counts, int ranks) {
        for (int rank = 0; rank < ranks; ++rank) {
            Box<3> box;
            int rest = rank;
            for (std::size_t a = 0; a < 3; ++a) {
                const auto range =
                    parallel::block(static_cast<int>(cells[a]), counts[a], rest % counts[a]);
                rest /= counts[a];
                box.lower[a] = range.begin;
                box.upper[a] = range.end;
            }
            boxes_.push_back(rest == 0 ? box : Box<3>{});
        }
    }
    [[nodiscard]] const Box<3>& box(int rank) const { return boxes_[std::size_t(rank)]; }
    [[nodiscard]] std::vector<Part> parts() const {
        std::vector<Part> parts;
        for (std::size_t rank = 0; rank < boxes_.size(); ++rank)
            if (!boxes_[rank].empty())
                parts.push_back({static_cast<int>(rank), 0, boxes_[rank]});
        return parts;
    }

  private:
    std::vector<Box<3>> boxes_;
};

/// Redistribution of one array a rank between two layouts, in both directions.
class Transposition {
  public:
    Transposition(MPI_Comm comm, const std::vector<Part>& from, const std::vector<Part>& to,
                  parallel::Traffic& traffic, parallel::SectionMonitor& sections)
        : forward_(comm, {from, to}, 1, traffic), back_(comm, {to, from}, 1, traffic),
          sections_(sections) {}
    void forward(const ConstViews& from, const Views& to) {
        const parallel::Section section(sections_, parallel::section::transpose);
        forward_.run(from, to);
    }
    void back(const Views& from, const Views& to) {
        const parallel::Section section(sections_, parallel::section::transpose);
        back_.run(constant(from), to);
    }

  private:
    domain::Redistribution<double> forward_, back_;
    parallel::SectionMonitor& sections_;
};

class FftSolver final : public LinearSolver {
  public:
    FftSolver(MPI_Comm comm, const Equation& equation, parallel::Traffic& traffic,
              parallel::SectionMonitor& sections)
        : equation_(equation), comm_(parallel::Communicator::duplicate(comm)),
          axes_(axes_of(equation)), order_(order_of(axes_)), singular_(is_singular(equation)),
          first_(axes_[order_[0]]), second_(axes_[order_[1]]), sections_(sections) {
        const int rank = comm_.rank();
        const int ranks = comm_.size();
        const auto& decomposition = *equation.decomposition;
        const Index<3> cells = permute(decomposition.mesh().zone(0).cells, order_);
        // Slabs of planes while there are enough planes; then pencils.
        const int planes = static_cast<int>(std::min(cells[1], cells[2]));
        const int across = (ranks + planes - 1) / planes;
        const int along = std::max(1, ranks / across);
        const Layout first(cells, {1, across, along}, ranks);
        const Layout second(cells, {across, 1, along}, ranks);
        const Layout columns(cells, {across, along, 1}, ranks);

        permuted_ = order_ != Order{0, 1, 2};
        std::vector<Part> blocks;
        bool same = static_cast<int>(decomposition.blocks().size()) == ranks;
        for (const auto& block : decomposition.blocks()) {
            blocks.push_back({block.rank, 0, permute(block.cells, order_)});
            same = same && blocks.back().box == first.box(block.rank);
            if (block.rank == rank && permuted_)
                copies_.emplace_back(blocks.back().box);
        }
        if (!same) {
            to_first_.emplace(comm_.get(), blocks, first.parts(), traffic, sections);
            first_array_ = Array(first.box(rank));
        }
        first_box_ = first.box(rank);
        second_box_ = second.box(rank);
        columns_box_ = columns.box(rank);
        if (across > 1) {
            to_second_.emplace(comm_.get(), first.parts(), second.parts(), traffic, sections);
            second_array_ = Array(second_box_);
        }
        if (along > 1) {
            to_columns_.emplace(comm_.get(), second.parts(), columns.parts(), traffic, sections);
            columns_array_ = Array(columns_box_);
        }
        modes_.emplace(columns_box_, axes_[order_[2]], eigenvalues(first_, cells[0]),
                       eigenvalues(second_, cells[1]), equation.s, first_.scale() * second_.scale(),
                       singular_);
    }

    using LinearSolver::solve;
    SolveReport solve(const Sources& f, const Targets& x) override {
        check_arrays(comm_.get(), f, x, *equation_.decomposition);
        const auto ids = equation_.decomposition->blocks_of(comm_.rank());
        const auto cells = [&](std::size_t b) {
            return equation_.decomposition->block(ids[b]).cells;
        };
        const std::size_t blocks = x.size();
        ConstViews from;
        Views to;
        for (std::size_t b = 0; b < blocks; ++b) {
            if (permuted_)
                copy(f[b], cells(b), copies_[b].view());
            to.push_back(permuted_ ? copies_[b].view() : x[b]);
            from.push_back(permuted_ ? View<const double>(to[b]) : f[b]);
        }
        if (to_first_) {
            const Views slab = of(first_array_, first_box_);
            to_first_->forward(from, slab);
            transform_and_solve(constant(slab), slab);
            to_first_->back(slab, to);
        } else {
            transform_and_solve(from, to);
        }
        for (std::size_t b = 0; b < blocks && permuted_; ++b)
            copy_back(copies_[b].view(), x[b], cells(b));
        return {.solver = "fft"};
    }

    [[nodiscard]] std::size_t bytes() const override {
        std::size_t bytes =
            modes_->bytes() + first_array_.bytes() + second_array_.bytes() + columns_array_.bytes();
        for (const Array& copy : copies_)
            bytes += copy.bytes();
        return bytes;
    }

  private:
    static std::vector<double> eigenvalues(const AxisTransform& transform, std::int64_t cells) {
        std::vector<double> values;
        for (int row = 0; row < cells; ++row)
            values.push_back(transform.eigenvalue(row));
        return values;
    }

    static Views of(Array& array, const Box<3>& box) {
        return box.empty() ? Views{} : Views{array.view()};
    }

    /// Return the layout in memory of `box` of an array, by the axes of the solver.
    template <class T>
    [[nodiscard]] domain::StridedBox layout(const View<T>& view, const Box<3>& box) const {
        return {view.offset(box.lower), permute(view.strides(), order_), 0};
    }
    void copy(const View<const double>& from, const Box<3>& box, const View<double>& to) const {
        domain::StridedCopy(to.box().extents(), 1)
            .run(from.data(), layout(from, box), to.data(), {0, to.strides(), 0});
    }
    void copy_back(const View<double>& from, const View<double>& to, const Box<3>& box) const {
        domain::StridedCopy(from.box().extents(), 1)
            .run(from.data(), {0, from.strides(), 0}, to.data(), layout(to, box));
    }

    /// Call `call` with the first index of up to `lanes` columns of plane k, and their number.
    template <class Call> void along_first(std::int64_t k, Call&& call) const {
        const Box<3>& box = first_box_;
        for (std::int64_t j = box.lower[1]; j < box.upper[1]; j += AxisTransform::lanes)
            call(Index<3>{box.lower[0], j, k},
                 static_cast<int>(std::min<std::int64_t>(AxisTransform::lanes, box.upper[1] - j)));
    }
    template <class Call> void along_second(std::int64_t k, Call&& call) const {
        const Box<3>& box = second_box_;
        for (std::int64_t i = box.lower[0]; i < box.upper[0]; i += AxisTransform::lanes)
            call(Index<3>{i, box.lower[1], k},
                 static_cast<int>(std::min<std::int64_t>(AxisTransform::lanes, box.upper[0] - i)));
    }
    template <class T> static Columns<T> rows_of(const View<T>& v, const Index<3>& at, int count) {
        return {&v(at), 1, v.strides()[1], count};
    }
    static Columns<double> columns_of(const View<double>& v, const Index<3>& at, int count) {
        return {&v(at), v.strides()[1], 1, count};
    }

    void transform_and_solve(const ConstViews& source, const Views& target) {
        const Views second_views = to_second_ ? of(second_array_, second_box_) : target;
        const Views column_views = to_columns_ ? of(columns_array_, columns_box_) : second_views;
        const auto from = source.empty() ? View<const double>{} : source[0];
        const auto first = target.empty() ? View<double>{} : target[0];
        const auto second = second_views.empty() ? View<double>{} : second_views[0];
        const auto columns = column_views.empty() ? View<double>{} : column_views[0];
        double sum = 0;
        double size = 0;

        // A pass over values that the one before it left in cache moves nothing.
        const bool apart = to_second_.has_value();
        const bool columns_apart = to_columns_.has_value();
        const auto lap = [&](std::string_view name, const Box<3>& box, int values,
                             std::size_t pivots = 0) {
            const double plane = static_cast<double>(box.volume()) /
                                 static_cast<double>(std::max<std::int64_t>(1, box.extent(2)));
            sections_.lap(name, {.bytes = 8 * values * plane +
                                          static_cast<double>(pivots) /
                                              static_cast<double>(axes_[order_[2]].cells())});
        };
        using parallel::section::fft;
        using parallel::section::tridiagonal;
        const auto second_forward = [&](std::int64_t k) {
            along_second(k, [&](const Index<3>& at, int count) {
                const auto these = columns_of(second, at, count);
                second_.forward(constant(these), these);
            });
            lap(fft, second_box_, apart ? 2 : 0);
            if (!to_columns_) {
                modes_->eliminate(columns, k);
                lap(tridiagonal, columns_box_, 0, modes_->bytes());
            }
        };
        sections_.mark();
        for (std::int64_t k = first_box_.lower[2]; k < first_box_.upper[2]; ++k) {
            if (singular_)
                add_mean(from, k, sum, size);
            along_first(k, [&](const Index<3>& at, int count) {
                first_.forward(rows_of(from, at, count), rows_of(first, at, count));
            });
            lap(fft, first_box_, 2);
            if (!to_second_)
                second_forward(k);
        }
        if (singular_)
            check_mean(sum, size);
        if (to_second_) {
            to_second_->forward(constant(target), second_views);
            for (std::int64_t k = second_box_.lower[2]; k < second_box_.upper[2]; ++k)
                second_forward(k);
        }
        if (to_columns_) {
            to_columns_->forward(constant(second_views), column_views);
            for (std::int64_t k = 0; k < columns_box_.upper[2]; ++k) {
                modes_->eliminate(columns, k);
                lap(tridiagonal, columns_box_, 2, modes_->bytes());
            }
            for (std::int64_t k = columns_box_.upper[2]; k-- > 0;) {
                modes_->substitute(columns, k);
                lap(tridiagonal, columns_box_, 2, modes_->bytes());
            }
            to_columns_->back(column_views, second_views);
        }

        const auto first_inverse = [&](std::int64_t k) {
            along_first(k, [&](const Index<3>& at, int count) {
                first_.inverse(rows_of(first, at, count));
            });
            lap(fft, first_box_, apart ? 2 : 1);
        };
        const auto second_inverse = [&](std::int64_t k) {
            along_second(k, [&](const Index<3>& at, int count) {
                second_.inverse(columns_of(second, at, count));
            });
            lap(fft, second_box_, apart ? 2 : columns_apart ? 1 : 0);
            if (!to_second_)
                first_inverse(k);
        };
        // A plane is transformed after the one below it was computed from its coefficients.
        for (std::int64_t k = second_box_.upper[2]; k-- > second_box_.lower[2];) {
            if (!to_columns_) {
                modes_->substitute(columns, k);
                lap(tridiagonal, columns_box_, 1, modes_->bytes());
            }
            if (k + 1 < second_box_.upper[2])
                second_inverse(k + 1);
        }
        if (!second_box_.empty())
            second_inverse(second_box_.lower[2]);
        if (to_second_) {
            to_second_->back(second_views, target);
            for (std::int64_t k = first_box_.lower[2]; k < first_box_.upper[2]; ++k)
                first_inverse(k);
        }
    }

    /// Add the integrals of plane k of f and of its magnitude.
    void add_mean(const View<const double>& f, std::int64_t k, double& sum, double& size) const {
        double plane = 0;
        double magnitude = 0;
        const std::int64_t size_of_row = first_box_.extent(0);
        const double* width = axes_[order_[0]].widths.data() + first_box_.lower[0];
        for (std::int64_t j = first_box_.lower[1]; j < first_box_.upper[1]; ++j) {
            const double* row = &f(first_box_.lower[0], j, k);
            double row_sum = 0;
            double row_magnitude = 0;
#pragma omp simd reduction(+ : row_sum, row_magnitude)
            for (std::int64_t i = 0; i < size_of_row; ++i) {
                row_sum += width[i] * row[i];
                row_magnitude += width[i] * std::abs(row[i]);
            }
            const double across = axes_[order_[1]].widths[static_cast<std::size_t>(j)];
            plane += across * row_sum;
            magnitude += across * row_magnitude;
        }
        const double thickness = axes_[order_[2]].widths[static_cast<std::size_t>(k)];
        sum += plane * thickness;
        size += magnitude * thickness;
    }
    void check_mean(double sum, double size) const {
        std::array<double, 2> both{sum, size};
        MPI_Allreduce(MPI_IN_PLACE, both.data(), 2, MPI_DOUBLE, MPI_SUM, comm_.get());
        check_compatibility(both[0], both[1]);
    }

    Equation equation_;
    parallel::Communicator comm_;
    std::array<Axis, 3> axes_;
    Order order_;
    bool singular_;
    bool permuted_ = false;
    AxisTransform first_, second_;
    Box<3> first_box_, second_box_, columns_box_;
    std::optional<Transposition> to_first_, to_second_, to_columns_;
    std::vector<Array> copies_; ///< of blocks, with the axes in the solver's order
    Array first_array_, second_array_, columns_array_;
    std::optional<ModeColumns> modes_;
    parallel::SectionMonitor& sections_;
};

} // namespace

std::string why_no_fft(const Equation& equation) {
    const auto axes = axes_of(equation);
    const auto stretched = std::count_if(axes.begin(), axes.end(), [](const Axis& axis) {
        return !axis.uniform && axis.periodic();
    });
    if (equation.b)
        return "its coefficient varies";
    if (stretched > 1)
        return "cells are stretched along more than one periodic axis";
    return "";
}

bool is_fft_fast(const Equation& equation) {
    const auto axes = axes_of(equation);
    for (std::size_t a = 0; a < 3; ++a)
        if (!axes[a].uniform && a != tridiagonal_axis(axes) && axes[a].cells() > longest_matrix)
            return false;
    return true;
}

std::unique_ptr<LinearSolver> make_fft_solver(MPI_Comm comm, const Equation& equation,
                                              parallel::Traffic& traffic,
                                              parallel::SectionMonitor& sections) {
    if (const std::string why = why_no_fft(equation); !why.empty())
        throw std::invalid_argument("the FFT solver cannot solve this equation: " + why);
    return std::make_unique<FftSolver>(comm, equation, traffic, sections);
}

} // namespace uzushio::linalg
