#include "linalg/blocked_fft_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "linalg/cell_transfer.hpp"
#include "linalg/fft_solver.hpp"
#include "linalg/mode_solver.hpp"
#include "parallel/communicator.hpp"

namespace uzushio::linalg {

namespace {

using domain::Box;
using domain::Index;

/// Part of the flux through a blocked face that the operator of coefficient 1 adds to a cell:
/// weight (x beyond the face - x of the cell).
struct BlockedFlux {
    static constexpr std::size_t boundary = std::numeric_limits<std::size_t>::max();
    std::size_t cell = 0;  ///< among those of `BlockedFaces`
    std::size_t other = 0; ///< beyond the face; `boundary`: 0
    double weight = 0;
};

/// Cells of this rank beside blocked faces, and those beyond these faces.
class BlockedFaces {
  public:
    BlockedFaces(const Equation& equation, const std::array<Axis, 3>& axes, int rank)
        : axes_(axes) {
        const auto& decomposition = *equation.decomposition;
        const auto ids = decomposition.blocks_of(rank);
        for (std::size_t b = 0; b < ids.size(); ++b)
            for_indices(decomposition.block(ids[b]).cells,
                        [&](const Index<3>& at) { add_cell(*equation.b, b, at, equation.s); });
        for (auto& [cell, axis, upper] : pending_)
            add_flux(cell, axis, upper);
        pending_ = {};
        numbers_ = {};
    }

    /// Cells that are not isolated, and after them those beyond their blocked faces.
    [[nodiscard]] const std::vector<Index<3>>& cells() const { return cells_; }
    /// Return the number of the former.
    [[nodiscard]] std::size_t size() const { return volumes_.size(); }
    /// Return a cell's value in a field with a ghost layer.
    template <class Field> [[nodiscard]] auto& value(Field& x, std::size_t cell) const {
        return x.view(places_[cell].first)(places_[cell].second);
    }
    [[nodiscard]] double volume(std::size_t cell) const { return volumes_[cell]; }

    /// Set y to D x on the cells that are not isolated; x has the values of all cells.
    void apply(std::span<const double> x, std::span<double> y) const {
        std::fill(y.begin(), y.end(), 0.0);
        for (const BlockedFlux& flux : fluxes_) {
            const double beyond = flux.other == BlockedFlux::boundary ? 0.0 : x[flux.other];
            y[flux.cell] += flux.weight * (beyond - x[flux.cell]);
        }
    }

  private:
    struct Pending {
        std::size_t cell, axis;
        bool upper;
    };

    void add_cell(const domain::Field<double>& b, std::size_t block, const Index<3>& at, double s) {
        bool isolated = s == 0;
        std::vector<Pending> blocked;
        for (std::size_t a = 0; a < 3; ++a) {
            if (!axes_[a].used)
                continue;
            for (const bool upper : {false, true}) {
                const Index<3> face = domain::moved(at, a, upper ? 1 : 0);
                if (axes_[a].reciprocal_distance(static_cast<int>(face[a])) == 0)
                    continue; // no flux for any coefficient
                if (b.view(block, a)(face) == 0)
                    blocked.push_back({volumes_.size(), a, upper});
                else
                    isolated = false;
            }
        }
        if (blocked.empty() || isolated)
            return;
        double volume = 1;
        for (std::size_t a = 0; a < 3; ++a)
            volume *= axes_[a].widths[static_cast<std::size_t>(at[a])];
        numbers_.emplace(key(at), cells_.size());
        cells_.push_back(at);
        places_.emplace_back(block, at);
        volumes_.push_back(volume);
        pending_.insert(pending_.end(), blocked.begin(), blocked.end());
    }

    void add_flux(std::size_t cell, std::size_t a, bool upper) {
        const Axis& axis = axes_[a];
        const auto i = static_cast<int>(cells_[cell][a]);
        const double weight = axis.reciprocal_distance(i + (upper ? 1 : 0)) /
                              axis.widths[static_cast<std::size_t>(i)];
        const Index<3> place = domain::moved(cells_[cell], a, upper ? 1 : -1);
        Index<3> at = place;
        std::size_t other = BlockedFlux::boundary;
        if (axis.periodic())
            at[a] = (at[a] + axis.cells()) % axis.cells();
        if (at[a] >= 0 && at[a] < axis.cells()) {
            const auto [entry, is_new] = numbers_.emplace(key(at), cells_.size());
            other = entry->second;
            if (is_new) {
                cells_.push_back(at);
                places_.emplace_back(places_[cell].first, place);
            }
        }
        fluxes_.push_back({cell, other, weight});
    }

    [[nodiscard]] std::int64_t key(const Index<3>& at) const {
        return at[0] + axes_[0].cells() * (at[1] + std::int64_t{axes_[1].cells()} * at[2]);
    }

    const std::array<Axis, 3>& axes_;
    std::vector<Index<3>> cells_;
    std::vector<std::pair<std::size_t, Index<3>>> places_; ///< block and index, also of ghosts
    std::vector<double> volumes_;                          ///< of the cells that are not isolated
    std::vector<BlockedFlux> fluxes_;
    std::unordered_map<std::int64_t, std::size_t> numbers_; ///< of cells, by their index
    std::vector<Pending> pending_;
};

/// Return the bounds of the cells of all ranks.
Box<3> bounds_of(MPI_Comm comm, const std::vector<Index<3>>& cells) {
    constexpr auto none = std::numeric_limits<std::int64_t>::max();
    std::array<std::int64_t, 6> bounds;
    bounds.fill(none);
    for (const Index<3>& at : cells)
        for (std::size_t a = 0; a < 3; ++a) {
            bounds[a] = std::min(bounds[a], at[a]);
            bounds[3 + a] = std::min(bounds[3 + a], -at[a] - 1);
        }
    MPI_Allreduce(MPI_IN_PLACE, bounds.data(), 6, MPI_INT64_T, MPI_MIN, comm);
    if (bounds[0] == none)
        return {};
    return {{bounds[0], bounds[1], bounds[2]}, {-bounds[3], -bounds[4], -bounds[5]}};
}

class BlockedFftSolver final : public IterativeSolver {
  public:
    explicit BlockedFftSolver(const SolverSetup& setup)
        : IterativeSolver(setup), comm_(parallel::Communicator::duplicate(setup.comm)),
          direct_(make_fft_solver(setup.comm, without_coefficient(setup.equation), setup.traffic,
                                  setup.sections)),
          faces_(setup.equation, a().axes(), comm_.rank()),
          constants_(is_singular(setup.equation)) {
        const auto order = ModeSolver::order_of(a().axes());
        std::vector<Index<3>> cells;
        for (const Index<3>& at : faces_.cells())
            cells.push_back(permute(at, order));
        const Box<3> region = bounds_of(comm_.get(), cells);
        if (region.empty()) // on no rank a face is blocked
            return;
        near_.emplace(comm_.get(), setup.equation, &region, setup.traffic, setup.sections);
        array_ = BoxArray(near_->layout().box(comm_.rank()));
        const std::span all(cells);
        sources_.emplace(comm_.get(), near_->layout(), all.first(faces_.size()), setup.traffic);
        values_.emplace(comm_.get(), near_->layout(), all, setup.traffic);
    }

    [[nodiscard]] std::size_t bytes() const override {
        return direct_->bytes() + array_.bytes() + (near_ ? near_->bytes() : 0) +
               2 * bytes_of(a().field());
    }

  private:
    using Vector = std::vector<double>;
    [[nodiscard]] std::string name() const override { return "cg/fft"; }

    void iterate(const Field& f, Field& x) override {
        direct_->solve(f, x);
        const std::size_t size = faces_.size();
        Vector g(size), r(size), bp(size), ap(size);
        Vector z(faces_.cells().size()), p(faces_.cells().size());
        a().exchange(x);
        for (std::size_t n = 0; n < z.size(); ++n)
            z[n] = faces_.value(x, n);
        faces_.apply(z, r); // f - A x = D x, because B x = f
        if (done(std::sqrt(dot(r, r))))
            return;
        double rz = 0;
        while (true) {
            solve_near(r, z);
            const double rz_before = std::exchange(rz, dot(r, z));
            const double beta = rz_before == 0 ? 0 : rz / rz_before;
            for (std::size_t n = 0; n < p.size(); ++n)
                p[n] = z[n] + beta * p[n];
            for (std::size_t n = 0; n < size; ++n)
                bp[n] = r[n] + beta * bp[n];
            faces_.apply(p, ap);
            for (std::size_t n = 0; n < size; ++n)
                ap[n] = bp[n] - ap[n];
            const double alpha = rz / dot(p, ap);
            for (std::size_t n = 0; n < size; ++n) {
                g[n] += alpha * bp[n];
                r[n] -= alpha * ap[n];
            }
            if (done(std::sqrt(dot(r, r))))
                break;
        }
        // Round-off of fluxes between narrow cells adds up to an integral of g.
        const Vector ones(size, 1.0);
        const double mean = constants_ ? dot(g, ones) / dot(ones, ones) : 0;
        a().copy(f, x);
        for (std::size_t n = 0; n < size; ++n)
            faces_.value(x, n) += g[n] - mean;
        direct_->solve(x, x);
    }

    /// Set z to B^-1 r on all cells of the list.
    void solve_near(const Vector& r, Vector& z) {
        const auto array = array_.bytes() > 0 ? array_.view() : domain::View<double>{};
        std::fill_n(array.data(), array.box().volume(), 0.0);
        sources_->scatter(r, array);
        near_->solve(array, array);
        values_->gather(array, z);
    }

    /// Return the integral of a b over the cells that are not isolated.
    [[nodiscard]] double dot(const Vector& a, const Vector& b) const {
        parallel::CompensatedSum sum;
        sum.add(0, static_cast<int>(faces_.size()), [&](int n) {
            const auto cell = static_cast<std::size_t>(n);
            return faces_.volume(cell) * a[cell] * b[cell];
        });
        return parallel::sum_over_ranks(sum, comm_.get());
    }

    parallel::Communicator comm_;
    std::unique_ptr<LinearSolver> direct_;
    BlockedFaces faces_;
    bool constants_;                 ///< solve the homogeneous equation of coefficient 1
    std::optional<ModeSolver> near_; ///< of the rows and planes with blocked faces
    BoxArray array_;
    std::optional<CellTransfer> sources_, values_;
};

} // namespace

std::string why_no_blocked_fft(MPI_Comm comm, const Equation& equation) {
    if (!equation.b)
        return "its coefficient is constant";
    int other = 0;
    const domain::Field<double>& b = *equation.b;
    for (std::size_t block = 0; block < b.blocks(); ++block)
        for (std::size_t array = 0; array < b.arrays(); ++array)
            for_indices(b.owned(block, array), [&](const Index<3>& face) {
                const double value = b.view(block, array)(face);
                other |= value == 0 || value == 1 ? 0 : 1;
            });
    MPI_Allreduce(MPI_IN_PLACE, &other, 1, MPI_INT, MPI_MAX, comm);
    return other != 0 ? "its coefficient is neither 0 nor 1 on some faces"
                      : why_no_fft(without_coefficient(equation));
}

// Times in ns for a cell, by measurements on one core: only their ratios matter.
double blocked_fft_cost(MPI_Comm comm, const Equation& equation, double iterations) {
    const auto axes = axes_of(equation);
    const std::size_t columns = ModeSolver::order_of(axes)[2];
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    const Box<3> region = bounds_of(comm, BlockedFaces(equation, axes, rank).cells());
    double direct = 6;
    for (std::size_t a = 0; a < 3; ++a)
        if (!axes[a].uniform && a != columns)
            direct += 0.17 * axes[a].cells(); // a product with a matrix
    const double share =
        static_cast<double>(region.extent(columns)) / static_cast<double>(axes[columns].cells());
    return (2 + iterations * share) * direct;
}

std::unique_ptr<LinearSolver> make_blocked_fft_solver(const SolverSetup& setup) {
    if (const std::string why = why_no_blocked_fft(setup.comm, setup.equation); !why.empty())
        throw std::invalid_argument("the solver cg/fft does not apply to this equation: " + why);
    return std::make_unique<BlockedFftSolver>(setup);
}

} // namespace uzushio::linalg
