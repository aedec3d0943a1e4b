#include "linalg/aggregation_cycle.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "linalg/cell_graph.hpp"
#include "linalg/rows.hpp"
#include "parallel/communicator.hpp"

namespace uzushio::linalg {

namespace {

using domain::Index;
using Vector = std::vector<double>;

struct Level {
    CellGraph graph;
    std::vector<std::int32_t> aggregate; ///< of each row, on the next level; empty: the same one
    bool is_gathered = false;            ///< each rank has the unknowns of all
    Vector f, x, sum;
};

class AggregationCycle final : public Preconditioner {
  public:
    explicit AggregationCycle(const SolverSetup& setup)
        : comm_(parallel::Communicator::duplicate(setup.comm)), traffic_(setup.traffic),
          sections_(setup.sections),
          a_(comm_.get(), without_coefficient(setup.equation), setup.traffic, setup.sections),
          input_(a_.field()), output_(a_.field()) {
        const auto& axes = a_.axes();
        for (std::size_t block = 0; block < input_.blocks(); ++block)
            for_indices(input_.owned(block), [&](const Index<3>& at) {
                double volume = 1;
                for (std::size_t d = 0; d < 3; ++d)
                    volume *= axes[d].widths[static_cast<std::size_t>(at[d])];
                volumes_.push_back(volume);
            });
        add(graph_of(comm_.get(), setup.equation, traffic_, sections_), comm_.size() == 1);
        add_levels();
        find_constants();
        double visits = 1;
        for (Level& level : levels_) {
            level.f = level.x = level.graph.vector();
            level.sum = level.f;
            bytes_of_cycle_ += 3 * visits * static_cast<double>(level.graph.bytes());
            visits *= level.aggregate.empty() ? 1 : 2;
        }
    }

    [[nodiscard]] Field& input() override { return input_; }
    [[nodiscard]] const Field& output() const override { return output_; }
    void exchange_output() override { a_.exchange(output_); }
    void apply() override {
        const parallel::Section section(sections_, "smoothing", {.bytes = bytes_of_cycle_});
        Level& level = levels_.front();
        std::size_t n = 0;
        for_cells([&](std::size_t block, std::int64_t size, const Index<3>& at) {
            const float* in = &input_.view(block)(at);
            for (std::int64_t i = 0; i < size; ++i, ++n)
                level.f[n] = -volumes_[n] * double{in[i]};
        });
        cycle(0);
        subtract_constants(level.x);
        n = 0;
        for_cells([&](std::size_t block, std::int64_t size, const Index<3>& at) {
            copy_row(level.x.data() + n, &output_.view(block)(at), size);
            n += static_cast<std::size_t>(size);
        });
    }

    [[nodiscard]] std::size_t bytes() const override {
        std::size_t bytes = 2 * bytes_of(input_) + volumes_.size() * sizeof(double);
        for (const Level& level : levels_)
            bytes += level.graph.bytes() + level.aggregate.size() * sizeof(std::int32_t) +
                     3 * level.f.size() * sizeof(double);
        return bytes;
    }

  private:
    template <class Visit> void for_cells(Visit&& visit) {
        for (std::size_t block = 0; block < input_.blocks(); ++block) {
            domain::Box<3> rows = input_.owned(block);
            const std::int64_t size = rows.extent(0);
            rows.upper[0] = std::min(rows.upper[0], rows.lower[0] + 1);
            for_indices(rows, [&](const Index<3>& at) { visit(block, size, at); });
        }
    }

    [[nodiscard]] MPI_Comm comm_of(const Level& level) const {
        return level.is_gathered ? MPI_COMM_SELF : comm_.get();
    }
    void add(CellGraph graph, bool is_gathered) {
        levels_.emplace_back();
        levels_.back().graph = std::move(graph);
        levels_.back().is_gathered = is_gathered;
    }
    /// Join unknowns until none has a neighbour.
    void add_levels() {
        constexpr std::int64_t few = 4096; // unknowns: messages take longer than work
        constexpr double stalled = 0.7;
        while (levels_.back().graph.size() > 0) {
            Level& level = levels_.back();
            const MPI_Comm comm = comm_of(level);
            const std::int64_t size = level.graph.size();
            if (!level.is_gathered && size <= few) {
                add(gathered(comm, level.graph), true);
                continue;
            }
            Aggregation first = join_pairs(comm, level.graph, {}, traffic_);
            Aggregation second =
                join_pairs(comm, first.coarse, std::move(first.strongest), traffic_);
            for (std::int32_t& at : first.aggregate)
                at = at < 0 ? -1 : second.aggregate[static_cast<std::size_t>(at)];
            const std::int64_t coarse = second.coarse.size();
            if (!level.is_gathered &&
                static_cast<double>(coarse) > stalled * static_cast<double>(size)) {
                add(gathered(comm, level.graph), true);
                continue;
            }
            if (coarse == size)
                return;
            level.aggregate = std::move(first.aggregate);
            add(std::move(second.coarse), level.is_gathered);
        }
    }

    /// Number the groups of cells on which constants solve the homogeneous equation: each ends as
    /// an unknown whose row is 0.
    void find_constants() {
        std::vector<std::int32_t> coarse;
        int here = 0;
        for (std::size_t l = levels_.size(); l-- > 0;) {
            const Level& level = levels_[l];
            std::vector<std::int32_t> group(level.graph.rows(), -1);
            for (std::size_t row = 0; row < group.size(); ++row)
                if (l + 1 < levels_.size() && level.aggregate.empty())
                    group[row] = coarse[static_cast<std::size_t>(level.graph.first()) + row];
                else if (l > 0 && level.graph.inverse[row] == 0)
                    group[row] = here++;
                else if (!level.aggregate.empty() && level.aggregate[row] >= 0)
                    group[row] = coarse[static_cast<std::size_t>(level.aggregate[row])];
            if (level.is_gathered)
                shared_ = here;
            coarse = std::move(group);
        }
        groups_ = std::move(coarse);
        sizes_.assign(static_cast<std::size_t>(here), 0);
        for (const std::int32_t group : groups_)
            if (group >= 0)
                ++sizes_[static_cast<std::size_t>(group)];
        add_over_ranks(sizes_);
    }
    /// Add the values of the groups that have cells on several ranks.
    void add_over_ranks(Vector& values) const {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), shared_, MPI_DOUBLE, MPI_SUM, comm_.get());
    }
    /// Subtract the mean over each group, beside which single precision would lose the differences.
    void subtract_constants(Vector& x) const {
        Vector sums(sizes_.size());
        for (std::size_t row = 0; row < groups_.size(); ++row)
            if (groups_[row] >= 0)
                sums[static_cast<std::size_t>(groups_[row])] += x[row];
        add_over_ranks(sums);
        for (std::size_t row = 0; row < groups_.size(); ++row)
            if (groups_[row] >= 0) {
                const auto group = static_cast<std::size_t>(groups_[row]);
                x[row] -= sums[group] / sizes_[group];
            }
    }

    /// Set x of a level to an approximate solution for its f.
    void cycle(std::size_t number) {
        Level& level = levels_[number];
        if (number + 1 == levels_.size())
            return relax_coarsest(level);
        Level& next = levels_[number + 1];
        if (level.aggregate.empty())
            return solve_gathered(level, next, number);
        relax_zero(level);
        restrict_residual(level, next);
        solve_coarse(number + 1);
        for (std::size_t row = 0; row < level.aggregate.size(); ++row)
            if (const std::int32_t at = level.aggregate[row]; at >= 0)
                level.x[row] += next.x[static_cast<std::size_t>(at)];
        relax_back(level);
    }

    /// Set x of a level by two cycles, as steps of a Chebyshev iteration.
    void solve_coarse(std::size_t number) {
        Level& level = levels_[number];
        // A level that has hardly fewer unknowns is not visited twice as often: work is bounded.
        if (number + 1 == levels_.size() ||
            2 * level.graph.size() > levels_[number - 1].graph.size())
            return cycle(number);
        // Roots of the polynomial on the interval of the cycle's eigenvalues, by measurement.
        constexpr double least = 0.25, centre = 0.5 * (least + 1);
        const double half = std::sqrt(0.125) * (1 - least);
        const Vector f = level.f;
        cycle(number);
        level.sum = level.x;
        for (double& value : level.sum)
            value /= centre + half;
        level.f = f;
        level.x = level.sum;
        subtract_product(level);
        cycle(number);
        for (std::size_t n = 0; n < level.graph.rows(); ++n)
            level.x[n] = level.sum[n] + level.x[n] / (centre - half);
    }

    void solve_gathered(Level& level, Level& next, std::size_t number) {
        const int count = static_cast<int>(level.graph.rows());
        const auto& firsts = level.graph.firsts;
        std::vector<int> counts, begins;
        for (std::size_t rank = 0; rank + 1 < firsts.size(); ++rank) {
            begins.push_back(static_cast<int>(firsts[rank]));
            counts.push_back(static_cast<int>(firsts[rank + 1] - firsts[rank]));
        }
        MPI_Allgatherv(level.f.data(), count, MPI_DOUBLE, next.f.data(), counts.data(),
                       begins.data(), MPI_DOUBLE, comm_.get());
        cycle(number + 1);
        std::copy_n(next.x.begin() + level.graph.first(), count, level.x.begin());
    }

    static void relax_coarsest(Level& level) { // no unknown has a neighbour
        for (std::size_t row = 0; row < level.graph.rows(); ++row)
            level.x[row] = level.graph.inverse[row] * level.f[row];
    }

    /// Relax all unknowns, one after the other, from 0.
    static void relax_zero(Level& level) {
        std::fill(level.x.begin(), level.x.end(), 0.0);
        const CellGraph& g = level.graph;
        for (std::size_t row = 0; row < g.rows(); ++row)
            relax_row(g, row, level.f.data(), level.x.data());
    }
    /// Relax them in the reverse order.
    void relax_back(Level& level) {
        const CellGraph& g = level.graph;
        g.exchange(level.x, traffic_);
        for (std::size_t row = g.rows(); row-- > 0;)
            relax_row(g, row, level.f.data(), level.x.data());
    }
    static void relax_row(const CellGraph& g, std::size_t row, const double* f, double* x) {
        x[row] = g.inverse[row] * (f[row] + neighbours(g, row, x));
    }
    static double neighbours(const CellGraph& g, std::size_t row, const double* x) {
        double sum = 0;
        for (auto n = g.begins[row]; n < g.begins[row + 1]; ++n)
            sum +=
                g.couplings[static_cast<std::size_t>(n)] * x[g.others[static_cast<std::size_t>(n)]];
        return sum;
    }
    /// f -= L x
    void subtract_product(Level& level) {
        level.graph.exchange(level.x, traffic_);
        for (std::size_t row = 0; row < level.graph.rows(); ++row)
            level.f[row] = residual(level, row);
    }
    static double residual(const Level& level, std::size_t row) {
        const CellGraph& g = level.graph;
        double sum = level.f[row] - g.own[row] * level.x[row];
        for (auto n = g.begins[row]; n < g.begins[row + 1]; ++n)
            sum += g.couplings[static_cast<std::size_t>(n)] *
                   (level.x[static_cast<std::size_t>(g.others[static_cast<std::size_t>(n)])] -
                    level.x[row]);
        return sum;
    }
    void restrict_residual(Level& level, Level& next) {
        level.graph.exchange(level.x, traffic_);
        std::fill(next.f.begin(), next.f.end(), 0.0);
        for (std::size_t row = 0; row < level.graph.rows(); ++row)
            if (const std::int32_t at = level.aggregate[row]; at >= 0)
                next.f[static_cast<std::size_t>(at)] += residual(level, row);
    }

    parallel::Communicator comm_;
    parallel::Traffic& traffic_;
    parallel::SectionMonitor& sections_;
    GridOperator<float> a_;
    Field input_, output_;
    Vector volumes_; ///< of this rank's cells
    std::vector<Level> levels_;
    std::vector<std::int32_t> groups_; ///< of each cell; -1: none
    int shared_ = 0;                   ///< groups that may have cells on several ranks: the first
    Vector sizes_;                     ///< cells of each group
    double bytes_of_cycle_ = 0;        ///< that it reads and writes
};

} // namespace

std::unique_ptr<Preconditioner> make_aggregation(const SolverSetup& setup) {
    return std::make_unique<AggregationCycle>(setup);
}

} // namespace uzushio::linalg
