#include "linalg/multigrid.hpp"

#include <algorithm>
#include <optional>
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

/// Redistribution of cell-centred fields between two decompositions of a mesh.
class Move {
  public:
    Move(MPI_Comm comm, const Decomposition& from, const Decomposition& to,
         parallel::Traffic& traffic, parallel::SectionMonitor& sections)
        : plan_(comm, {domain::parts_of(from), domain::parts_of(to)}, 1, traffic),
          sections_(sections) {}
    void run(const Field& from, Field& to) {
        const parallel::Section section(sections_, "redistribution");
        std::vector<View<const float>> sources;
        std::vector<View<float>> targets;
        for (std::size_t b = 0; b < from.blocks(); ++b)
            sources.push_back(from.view(b));
        for (std::size_t b = 0; b < to.blocks(); ++b)
            targets.push_back(to.view(b));
        plan_.run(sources, targets);
    }

  private:
    domain::Redistribution<float> plan_;
    parallel::SectionMonitor& sections_;
};

/// A field on blocks other than those of a level, and the way to the level and back.
struct Elsewhere {
    Elsewhere(MPI_Comm comm, const Equation& equation, const Decomposition& level,
              parallel::Traffic& traffic, parallel::SectionMonitor& sections)
        : a(comm, equation, traffic, sections), field(a.field()),
          there(comm, a.decomposition(), level, traffic, sections),
          back(comm, level, a.decomposition(), traffic, sections) {}
    GridOperator<float> a;
    Field field;
    Move there, back;
};

struct Level {
    Level(MPI_Comm comm, const Equation& equation, parallel::Traffic& traffic,
          parallel::SectionMonitor& sections)
        : a(comm, equation, traffic, sections), f(a.field()), x(a.field()) {}
    GridOperator<float> a;
    Field f, x;
    std::optional<GridTransfer> transfer;    ///< to the next coarser level, if there is one
    std::optional<Elsewhere> before_coarser; ///< coarse blocks here, if the next level's differ
};

bool same(const std::vector<Block>& one, const std::vector<Block>& other) {
    return std::equal(
        one.begin(), one.end(), other.begin(), other.end(),
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
    Multigrid(MPI_Comm comm, const Equation& equation, const CycleOptions& options,
              parallel::Traffic& traffic, parallel::SectionMonitor& sections)
        : options_(options) {
        const auto axes = axes_of(equation);
        const auto& present = equation.decomposition->blocks();
        const auto blocks = blocks_for(present, axes);
        Equation finest = equation;
        if (!same(blocks, present)) {
            finest = moved(comm, equation, axes, blocks, traffic);
            input_.emplace(comm, without_coefficient(equation), *finest.decomposition, traffic,
                           sections);
        }
        add_levels(comm, finest, axes, traffic, sections);
    }

    void apply(const domain::Field<double>& r, domain::Field<double>& z) override {
        Level& finest = *levels_[0];
        if (input_) {
            convert(r, input_->field);
            input_->there.run(input_->field, finest.f);
        } else {
            convert(r, finest.f);
        }
        cycle(0);
        if (input_) {
            input_->back.run(finest.x, input_->field);
            convert(input_->field, z);
        } else {
            convert(finest.x, z);
        }
    }

    [[nodiscard]] std::size_t bytes() const override {
        std::size_t bytes = input_ ? bytes_of(input_->field) : 0;
        for (const auto& level : levels_)
            bytes += bytes_of(level->f) + bytes_of(level->x) +
                     (level->before_coarser ? bytes_of(level->before_coarser->field) : 0);
        return bytes;
    }

  private:
    /// Copy cells between double and single precision: three values of the latter, read and
    /// written.
    template <class From, class To>
    void convert(const domain::Field<From>& from, domain::Field<To>& to) const {
        const auto pass = (input_ ? input_->a : levels_[0]->a).section("vector updates", 3);
        copy_cells(from, to);
    }
    static Equation without_coefficient(Equation equation) {
        equation.b = nullptr;
        return equation;
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
            levels_.push_back(std::make_unique<Level>(comm, equation, traffic, sections));
            Level& level = *levels_.back();
            const Coarsened joined = coarsened_axes(axes);
            if (std::none_of(joined.begin(), joined.end(), [](bool a) { return a; }))
                return;
            level.transfer.emplace(axes, joined);
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
                                             traffic, sections);
                coarse = std::move(next);
            }
            equation = std::move(coarse);
            axes = coarse_axes;
        }
    }

    void cycle(std::size_t number) {
        Level& level = *levels_[number];
        GridOperator<float>& a = level.a;
        Field& f = level.f;
        Field& x = level.x;
        const auto omega = static_cast<float>(options_.omega);
        const bool coarsest = number + 1 == levels_.size();
        const int before = coarsest ? 16 : options_.sweeps_before;
        a.relax_zero(x, f, omega);
        a.relax(x, f, 1, omega);
        for (int sweep = 1; sweep < before; ++sweep) {
            a.relax(x, f, 0, omega);
            a.relax(x, f, 1, omega);
        }
        if (coarsest)
            return;
        Level& next = *levels_[number + 1];
        if (level.before_coarser) {
            Elsewhere& here = *level.before_coarser;
            level.transfer->restrict_residual(a, x, f, here.field);
            here.there.run(here.field, next.f);
            cycle(number + 1);
            here.back.run(next.x, here.field);
            here.a.exchange(here.field);
            level.transfer->add_prolongation(a, here.field, x);
        } else {
            level.transfer->restrict_residual(a, x, f, next.f);
            cycle(number + 1);
            next.a.exchange(next.x);
            level.transfer->add_prolongation(a, next.x, x);
        }
        for (int sweep = 0; sweep < options_.sweeps_after; ++sweep) {
            a.relax(x, f, 1, omega);
            a.relax(x, f, 0, omega);
        }
    }

    CycleOptions options_;
    std::optional<Elsewhere> input_; ///< the caller's blocks, if the finest level's differ
    std::vector<std::unique_ptr<Level>> levels_;
};

} // namespace

std::unique_ptr<Preconditioner> make_multigrid(MPI_Comm comm, const Equation& equation,
                                               const CycleOptions& options,
                                               parallel::Traffic& traffic,
                                               parallel::SectionMonitor& sections) {
    return std::make_unique<Multigrid>(comm, equation, options, traffic, sections);
}

} // namespace uzushio::linalg
