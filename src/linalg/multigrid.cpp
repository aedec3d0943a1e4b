#include "linalg/multigrid.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "domain/redistribution.hpp"
#include "linalg/face_coefficient.hpp"
#include "linalg/grid_transfer.hpp"
#include "linalg/rows.hpp"

namespace uzushio::linalg {

namespace {

using domain::Block;
using domain::Decomposition;
using domain::Index;
using domain::View;
using Field = domain::Field<float>;

/// Right-hand side and solution on blocks other than those of a level, and the way to the level
/// and back.
struct Elsewhere {
    Elsewhere(MPI_Comm comm, const Equation& equation, const Decomposition& level, int ghosts,
              parallel::Traffic& traffic, parallel::SectionMonitor& monitor)
        : a(comm, equation, traffic, monitor, ghosts), f(a.field()), x(a.field()),
          sections(monitor),
          there(comm, {domain::parts_of(a.decomposition()), domain::parts_of(level)}, 1, traffic),
          back(comm, {domain::parts_of(level), domain::parts_of(a.decomposition())}, 1, traffic) {}
    /// Copy f to the level's right-hand side.
    void send_f(Field& to) {
        const parallel::Section section(sections, "redistribution");
        there.run(domain::views(std::as_const(f)), domain::views(to));
    }
    /// Copy the level's solution to x.
    void fetch_x(const Field& from) {
        const parallel::Section section(sections, "redistribution");
        back.run(domain::views(from), domain::views(x));
    }
    GridOperator<float> a;
    Field f, x;
    parallel::SectionMonitor& sections;
    domain::Redistribution<float> there, back;
};

struct Level {
    Level(MPI_Comm comm, const Equation& equation, int ghosts, parallel::Traffic& traffic,
          parallel::SectionMonitor& sections)
        : a(comm, equation, traffic, sections, ghosts), f(a.field()), x(a.field()) {
        for (std::size_t b = 0; b < f.blocks(); ++b)
            data.push_back({f.view(b).data(), x.view(b).data()});
    }
    GridOperator<float> a;
    Field f, x;
    /// First values of f and x in each block.
    struct Data {
        float *f, *x;
    };
    std::vector<Data> data;
    std::vector<View<float>> coarse_f, coarse_x; ///< of each block, on the next coarser level
    std::optional<GridTransfer> transfer;        ///< to the next coarser level, if there is one
    std::optional<Elsewhere> before_coarser;     ///< coarse blocks here, if the next level's differ
};

/// Step of a cycle on a level, in which a row reads rows beside it.
struct Stage {
    enum class Kind { relax_zero, relax, restrict, add_coarse, set_coarse };
    Kind kind;
    int colour = 0;
    int layers = 0; ///< of ghosts, in which it is computed too
};

bool same(const std::vector<Block>& blocks, const std::vector<Block>& other) {
    return std::equal(
        blocks.begin(), blocks.end(), other.begin(), other.end(),
        [](const Block& p, const Block& q) { return p.rank == q.rank && p.cells == q.cells; });
}

/// Return the blocks of a level: those that it has already, unless their cuts or sizes do not fit.
std::vector<Block> blocks_for(const std::vector<Block>& present, const std::array<Axis, 3>& axes) {
    constexpr std::int64_t few = 512;   // cells of a rank: messages take longer than work
    constexpr std::int64_t many = 4096; // cells of a rank after agglomeration
    Index<3> cells{};
    for (std::size_t a = 0; a < 3; ++a)
        cells[a] = axes[a].cells();
    const std::int64_t all = cells[0] * cells[1] * cells[2];
    std::vector<int> ranks;
    for (const Block& block : present)
        ranks.push_back(block.rank);
    std::sort(ranks.begin(), ranks.end());
    const auto used = std::unique(ranks.begin(), ranks.end()) - ranks.begin();
    const Coarsened joined = coarsened_axes(axes);
    const bool small = used > 1 && all / used < few;
    if (!small && fits(present, cells, joined))
        return present;
    const int wanted = static_cast<int>(
        small ? std::max<std::int64_t>(1, std::min<std::int64_t>(used, all / many)) : used);
    // As many further levels as possible without another redistribution.
    std::vector<Block> best;
    std::array<int, 3> times{};
    std::array<Axis, 3> coarse = axes;
    while (true) {
        const Coarsened next = coarsened_axes(coarse);
        if (std::none_of(next.begin(), next.end(), [](bool a) { return a; }))
            break;
        for (std::size_t a = 0; a < 3; ++a)
            if (next[a]) {
                ++times[a];
                coarse[a] = coarse_axis(coarse[a]);
            }
        auto blocks = aligned_blocks(cells, times, wanted, 2);
        if (!best.empty() && blocks.size() < best.size())
            break;
        best = std::move(blocks);
    }
    return best.empty() ? aligned_blocks(cells, times, 1, 1) : best;
}

class Multigrid final : public Preconditioner {
  public:
    Multigrid(const SolverSetup& setup, const CycleOptions& options)
        : options_(options), ghosts_(ghosts_of(options)) {
        const auto& [comm, equation, limits, traffic, sections] = setup;
        const auto axes = axes_of(equation);
        const auto& present = equation.decomposition->blocks();
        const auto blocks = blocks_for(present, axes);
        Equation finest = equation;
        if (!same(blocks, present)) {
            finest = moved(comm, equation, axes, blocks, traffic);
            input_.emplace(comm, without_coefficient(equation), *finest.decomposition, 1, traffic,
                           sections);
        }
        add_levels(comm, finest, axes, traffic, sections);
        for (std::size_t number = 0; number + 1 < levels_.size(); ++number) {
            Level& level = *levels_[number];
            auto& here = level.before_coarser;
            Field& f = here ? here->f : levels_[number + 1]->f;
            Field& x = here ? here->x : levels_[number + 1]->x;
            level.coarse_f = domain::views(f);
            level.coarse_x = domain::views(x);
        }
    }

    [[nodiscard]] Field& input() override { return input_ ? input_->f : levels_[0]->f; }
    [[nodiscard]] const Field& output() const override {
        return input_ ? input_->x : levels_[0]->x;
    }
    void exchange_output() override {
        if (input_)
            input_->a.exchange(input_->x);
        else
            levels_[0]->a.exchange(levels_[0]->x);
    }
    void apply() override {
        if (input_)
            input_->send_f(levels_[0]->f);
        cycle(0);
        if (input_)
            input_->fetch_x(levels_[0]->x);
    }
    void apply_first() override {
        if (input_)
            input_->send_f(levels_[0]->f);
        nested_cycles();
        if (input_)
            input_->fetch_x(levels_[0]->x);
    }

    [[nodiscard]] std::size_t bytes() const override {
        std::size_t bytes = input_ ? 2 * bytes_of(input_->f) : 0;
        for (const auto& level : levels_)
            bytes += 2 * bytes_of(level->f) +
                     (level->before_coarser ? 2 * bytes_of(level->before_coarser->f) : 0);
        return bytes;
    }

  private:
    static int ghosts_of(const CycleOptions& options) {
        return options.fused ? 2 * (options.sweeps_before + options.sweeps_after) - 1 : 1;
    }
    /// Return the equation on other blocks.
    static Equation moved(MPI_Comm comm, const Equation& equation, const std::array<Axis, 3>& axes,
                          const std::vector<Block>& blocks, parallel::Traffic& traffic) {
        Equation result = equation_on(equation, axes, blocks);
        int rank = 0;
        MPI_Comm_rank(comm, &rank);
        if (equation.b)
            result.b = moved_coefficient(comm, *equation.b, *equation.decomposition,
                                         *result.decomposition, rank, traffic);
        return result;
    }

    void add_levels(MPI_Comm comm, Equation equation, std::array<Axis, 3> axes,
                    parallel::Traffic& traffic, parallel::SectionMonitor& sections) {
        while (true) {
            levels_.push_back(std::make_unique<Level>(comm, equation, ghosts_, traffic, sections));
            Level& level = *levels_.back();
            const Coarsened joined = coarsened_axes(axes);
            if (std::none_of(joined.begin(), joined.end(), [](bool a) { return a; }))
                return;
            const double factor = levels_.size() == 1 ? options_.correction_factor : 1;
            level.transfer.emplace(axes, joined, ghosts_, level.a.threads(), factor);
            const auto below = coarse_blocks(equation.decomposition->blocks(), joined);
            auto coarse_axes = axes;
            for (std::size_t a = 0; a < 3; ++a)
                if (joined[a])
                    coarse_axes[a] = coarse_axis(axes[a]);
            Equation coarse = equation_on(equation, coarse_axes, below);
            if (equation.b)
                coarse.b = coarse_coefficient(*equation.b, axes, joined, *coarse.decomposition,
                                              level.a.rank());
            const auto blocks = blocks_for(below, coarse_axes);
            if (!same(blocks, below)) {
                Equation next = moved(comm, coarse, coarse_axes, blocks, traffic);
                level.before_coarser.emplace(comm, without_coefficient(coarse), *next.decomposition,
                                             ghosts_, traffic, sections);
                coarse = std::move(next);
            }
            equation = std::move(coarse);
            axes = coarse_axes;
        }
    }

    /// Move the right-hand side to the blocks of the next coarser level.
    void send_coarse_f(std::size_t number) {
        if (auto& here = levels_[number]->before_coarser)
            here->send_f(levels_[number + 1]->f);
    }
    /// Move the next coarser level's solution to the blocks of a level, and fill its ghosts.
    void fetch_coarse_x(std::size_t number) {
        Level& next = *levels_[number + 1];
        if (auto& here = levels_[number]->before_coarser) {
            here->fetch_x(next.x);
            here->a.exchange(here->x);
        } else {
            next.a.exchange(next.x);
        }
    }

    /// Set x of a level to an approximate solution. `nested`: begin with the interpolation of the
    /// next coarser level's x, else with 0.
    void cycle(std::size_t number, bool nested = false) {
        Level& level = *levels_[number];
        if (number + 1 == levels_.size())
            return solve_coarsest();
        const bool at_once = options_.fused && level.a.computes_ghosts();
        if (at_once)
            level.a.exchange(level.f);
        if (nested)
            fetch_coarse_x(number);
        run(number, stages_before(nested), at_once);
        send_coarse_f(number);
        cycle(number + 1);
        fetch_coarse_x(number);
        if (at_once && nested)
            level.a.exchange(level.x);
        run(number, stages_after(), at_once);
    }

    /// Full multigrid: solve each level, from the coarsest to the finest.
    void nested_cycles() {
        const std::size_t last = levels_.size() - 1;
        for (std::size_t number = 0; number < last; ++number) {
            const Level& level = *levels_[number];
            {
                const auto pass = level.a.section("transfer", 1 + level.transfer->coarse_share());
                level.a.for_rows([&](const auto& row) {
                    level.transfer->restrict_row(row, level.data[row.block].f + row.at,
                                                 level.coarse_f[row.block]);
                });
            }
            send_coarse_f(number);
        }
        cycle(last);
        for (std::size_t number = last; number-- > 0;)
            cycle(number, true);
    }

    void solve_coarsest() {
        std::vector<Stage> stages{{Stage::Kind::relax_zero}, {Stage::Kind::relax, 1}};
        for (int sweep = 1; sweep < 16; ++sweep) {
            stages.push_back({Stage::Kind::relax, 0});
            stages.push_back({Stage::Kind::relax, 1});
        }
        run(levels_.size() - 1, stages, false);
    }

    [[nodiscard]] std::vector<Stage> stages_before(bool nested) const {
        std::vector<Stage> stages;
        int layers = ghosts_;
        if (nested)
            stages.push_back({Stage::Kind::set_coarse, 0, layers--});
        for (int half = 0; half < 2 * options_.sweeps_before; ++half) {
            const bool zero = half == 0 && !nested;
            stages.push_back(
                {zero ? Stage::Kind::relax_zero : Stage::Kind::relax, half % 2, layers--});
        }
        stages.push_back({Stage::Kind::restrict});
        return stages;
    }
    [[nodiscard]] std::vector<Stage> stages_after() const {
        int layers = 2 * options_.sweeps_after;
        std::vector<Stage> stages{{Stage::Kind::add_coarse, 0, layers}};
        for (int half = 0; half < 2 * options_.sweeps_after; ++half)
            stages.push_back(
                {Stage::Kind::relax, (half + (options_.symmetric ? 1 : 0)) % 2, --layers});
        return stages;
    }

    /// Run stages of a level: at once, with ghosts that are valid, or one after the other with
    /// an exchange before each.
    void run(std::size_t number, const std::vector<Stage>& stages, bool at_once) {
        Level& level = *levels_[number];
        if (at_once) {
            std::vector<int> layers;
            for (const Stage& stage : stages)
                layers.push_back(stage.layers);
            const auto pass = section(level, stages);
            level.a.for_stages(layers, [&](std::int64_t stage, const auto& row) {
                visit(stages[static_cast<std::size_t>(stage)], number, row);
            });
            return;
        }
        for (const Stage& stage : stages) {
            level.a.exchange(level.x);
            const auto pass = section(level, {stage});
            const auto visit_stage = [&](const auto& row) { visit(stage, number, row); };
            if (stage.kind == Stage::Kind::relax)
                level.a.for_rows_in_place(visit_stage);
            else
                level.a.for_rows(visit_stage);
        }
    }
    template <class Row> void visit(const Stage& stage, std::size_t number, const Row& row) {
        const Level& level = *levels_[number];
        const auto omega = static_cast<float>(options_.omega);
        float* const x = level.data[row.block].x + row.at;
        const float* const f = level.data[row.block].f + row.at;
        switch (stage.kind) {
        case Stage::Kind::relax_zero:
            prefetch_row(f + row.stride_j, row.size);
            return level.a.relax_zero_row(row, x, f, omega);
        case Stage::Kind::relax:
            return level.a.relax_row(row, x, f, stage.colour, omega);
        case Stage::Kind::restrict:
            return level.transfer->restrict_residual(row, x, f, level.coarse_f[row.block]);
        case Stage::Kind::add_coarse:
            prefetch_row(x + row.stride_j, row.size);
            prefetch_row(f + row.stride_j, row.size);
            return level.transfer->prolong<true>(row, level.coarse_x[row.block], x);
        case Stage::Kind::set_coarse:
            return level.transfer->prolong<false>(row, level.coarse_x[row.block], x);
        }
    }
    /// Return the section of stages in one pass: each array is read and written once.
    [[nodiscard]] parallel::Section section(const Level& level, const std::vector<Stage>& stages) {
        const Stage::Kind first = stages.front().kind;
        const double share = level.transfer ? level.transfer->coarse_share() : 0;
        bool reads_f = false, relaxes = false, writes_x = false, uses_b = false;
        double values = 0;
        for (const auto& [kind, colour, layers] : stages) {
            const bool relax = kind == Stage::Kind::relax_zero || kind == Stage::Kind::relax;
            relaxes |= relax;
            reads_f |= relax || kind == Stage::Kind::restrict;
            writes_x |= kind != Stage::Kind::restrict;
            uses_b |= kind == Stage::Kind::relax || kind == Stage::Kind::restrict;
            values += relax ? 0 : share;
        }
        const bool sets_x = first == Stage::Kind::relax_zero || first == Stage::Kind::set_coarse;
        values += (sets_x ? 0 : 1) + (reads_f ? 1 : 0) + (writes_x ? 1 : 0);
        return level.a.section(relaxes ? "smoothing" : "transfer", values, uses_b, relaxes);
    }

    CycleOptions options_;
    int ghosts_;                     ///< layers of the levels' fields
    std::optional<Elsewhere> input_; ///< the caller's blocks, if the finest level's differ
    std::vector<std::unique_ptr<Level>> levels_;
};

} // namespace

std::unique_ptr<Preconditioner> make_multigrid(const SolverSetup& setup,
                                               const CycleOptions& options) {
    return std::make_unique<Multigrid>(setup, options);
}

} // namespace uzushio::linalg
