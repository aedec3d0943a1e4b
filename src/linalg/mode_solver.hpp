#pragma once

#include <mpi.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "domain/redistribution.hpp"
#include "linalg/axis_transform.hpp"
#include "linalg/equation.hpp"
#include "linalg/mode_axes.hpp"
#include "linalg/mode_columns.hpp"
#include "linalg/partitioned_columns.hpp"
#include "linalg/shared_columns.hpp"
#include "linalg/stage_layout.hpp"
#include "parallel/communicator.hpp"
#include "parallel/section_monitor.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::linalg {

/// Array without ghosts of a box.
class BoxArray {
  public:
    BoxArray() = default;
    explicit BoxArray(const domain::Box<3>& box)
        : box_(box), values_(static_cast<std::size_t>(box.volume())) {}
    [[nodiscard]] domain::View<double> view() { return {values_.data(), box_, 1}; }
    [[nodiscard]] std::size_t bytes() const { return values_.bytes(); }

  private:
    domain::Box<3> box_{};
    parallel::AlignedArray<double> values_;
};

/// Scheme of the tridiagonal systems of several ranks: ranks receive whole columns (`transposed`),
/// or exchange the first and last planes of their own (`partitioned`; a periodic third axis is
/// transposed).
enum class ColumnScheme { transposed, partitioned };

/// Direct solver of an equation whose coefficient is taken as 1: transforms along two axes
/// (`AxisTransform`), and tridiagonal systems along the third (`ModeColumns`). In all boxes and
/// arrays the axes are in the order of the solver: `order()[a]` is the mesh's axis of a.
///
/// Ranks hold slabs of planes during the transforms (pencils, if there are more ranks than planes)
/// and, unless they are partitioned, columns during the tridiagonal solve. OpenMP threads of a rank
/// share its planes and columns, unless they are few. On one rank and thread each plane is
/// transformed and eliminated while it is in cache, in place.
class ModeSolver {
  public:
    using Order = AxisOrder;

    /// Return the order of the axes for an equation.
    [[nodiscard]] static Order order_of(const std::array<Axis, 3>& axes);

    /// `region`: right-hand sides are 0 outside its rows (j) and planes (k), and solutions are not
    /// wanted there; null: the mesh. If the third axis is periodic, planes are those of the mesh.
    /// `traffic` and `sections` must outlive the solver.
    ModeSolver(MPI_Comm comm, const Equation& equation, const domain::Box<3>* region,
               parallel::Traffic& traffic, parallel::SectionMonitor& sections,
               ColumnScheme scheme = ColumnScheme::transposed);

    [[nodiscard]] const Order& order() const { return order_; }
    /// Return the planes of a rank: the box of its arrays.
    [[nodiscard]] const StageLayout& layout() const { return first_layout_; }

    /// Solve (collective). `f` and `x` are arrays of this rank's box, possibly larger, empty if it
    /// has none; they may be the same. Outside the rows of the region f must be 0, and x is not
    /// defined. If constants solve the homogeneous equation, x has zero mean over the planes;
    /// without a region throws `std::invalid_argument` on all ranks if f has a mean.
    void solve(const domain::View<const double>& f, const domain::View<double>& x);

    [[nodiscard]] std::size_t bytes() const {
        const std::int64_t shared = shared_columns_ ? 8 * columns_box_.volume() : 0;
        return (modes_ ? modes_->bytes() : partitioned_->bytes()) + second_array_.bytes() +
               columns_array_.bytes() + static_cast<std::size_t>(shared);
    }

  private:
    /// Redistribution of one array a rank between two stages, in both directions.
    struct Transposition {
        domain::Redistribution<double> there, back;
    };
    [[nodiscard]] Transposition transposition(const StageLayout& from, const StageLayout& to,
                                              parallel::Traffic& traffic) const;
    /// Use memory that all ranks share for the columns, if they are on one node (collective).
    void share_columns(const StageLayout& columns);
    template <class Call> void exchange(Call&& call) const;
    void move(domain::Redistribution<double>& way, const domain::View<double>& from,
              const domain::View<double>& to);
    template <class Call> void for_rows(std::int64_t k, Call&& call) const;
    template <class Call> void for_columns(std::int64_t k, Call&& call) const;
    template <class Call>
    void on_threads(std::int64_t lower, std::int64_t upper, Call&& call) const;
    void transform_first(std::size_t thread, const domain::View<const double>& f,
                         const domain::View<double>& x, std::int64_t k);
    void transform_second(std::size_t thread, const domain::View<double>& x, std::int64_t k);
    void invert_first(std::size_t thread, const domain::View<double>& x, std::int64_t k);
    void invert_second(std::size_t thread, const domain::View<double>& x, std::int64_t k);
    /// Solve on one rank and thread: transform and eliminate each plane while it is in cache.
    void solve_by_planes(const domain::View<const double>& f, const domain::View<double>& x);
    /// Solve on several, in stages that they share by planes or by columns.
    void solve_by_stages(const domain::View<const double>& f, const domain::View<double>& x);
    void solve_columns(const domain::View<double>& x);
    void solve_partitioned(const domain::View<double>& x);
    void check_mean(const domain::View<const double>& f) const;
    void add_mean(const domain::View<const double>& f, std::int64_t k,
                  std::array<double, 2>& sums) const;

    parallel::Communicator comm_;
    std::array<Axis, 3> axes_;
    Order order_;
    bool whole_; ///< the region is the mesh
    bool singular_;
    std::vector<AxisTransform> first_, second_; ///< one a thread
    domain::Box<3> region_;
    StageLayout first_layout_;
    domain::Box<3> first_box_, second_box_, columns_box_;
    std::optional<Transposition> to_second_, to_columns_;
    std::optional<SharedColumns> shared_columns_; ///< instead of `to_columns_`, on one node
    BoxArray second_array_, columns_array_;
    std::optional<ModeColumns> modes_;
    std::optional<PartitionedColumns> partitioned_; ///< instead of `modes_`
    parallel::SectionMonitor& sections_;
};

/// Return an index, or a box, with the axes in the order of the solver.
[[nodiscard]] inline domain::Index<3> permute(const domain::Index<3>& index,
                                              const ModeSolver::Order& order) {
    return {index[order[0]], index[order[1]], index[order[2]]};
}
[[nodiscard]] inline domain::Box<3> permute(const domain::Box<3>& box,
                                            const ModeSolver::Order& order) {
    return {permute(box.lower, order), permute(box.upper, order)};
}

} // namespace uzushio::linalg
