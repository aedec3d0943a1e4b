#include "linalg/fft_solver.hpp"

#include <optional>
#include <stdexcept>
#include <vector>

#include "domain/strided_copy.hpp"
#include "linalg/mode_solver.hpp"
#include "parallel/section_names.hpp"

namespace uzushio::linalg {

namespace {

using domain::Box;
using domain::Index;
using domain::View;
using Order = ModeSolver::Order;

class FftSolver final : public LinearSolver {
  public:
    FftSolver(MPI_Comm comm, const Equation& equation, parallel::Traffic& traffic,
              parallel::SectionMonitor& sections, ColumnScheme scheme)
        : equation_(equation), comm_(parallel::Communicator::duplicate(comm)),
          modes_(comm, equation, nullptr, traffic, sections, scheme),
          name_(scheme == ColumnScheme::partitioned ? "fft/partitioned" : "fft"),
          sections_(sections) {
        const auto& decomposition = *equation.decomposition;
        const Order& order = modes_.order();
        permuted_ = order != Order{0, 1, 2};
        std::vector<domain::Part> blocks;
        bool same = static_cast<int>(decomposition.blocks().size()) == comm_.size();
        for (const auto& block : decomposition.blocks()) {
            blocks.push_back({block.rank, 0, permute(block.cells, order)});
            same = same && blocks.back().box == modes_.layout().box(block.rank);
            if (block.rank == comm_.rank() && permuted_)
                copies_.emplace_back(blocks.back().box);
        }
        if (!same) {
            const auto parts = modes_.layout().parts();
            there_.emplace(comm_.get(), domain::RedistributionPlan{blocks, parts}, 1, traffic);
            back_.emplace(comm_.get(), domain::RedistributionPlan{parts, blocks}, 1, traffic);
            planes_ = BoxArray(modes_.layout().box(comm_.rank()));
        }
    }

    using LinearSolver::solve;
    SolveReport solve(const Sources& f, const Targets& x) override {
        check_arrays(comm_.get(), f, x, *equation_.decomposition);
        const auto ids = equation_.decomposition->blocks_of(comm_.rank());
        const auto cells = [&](std::size_t b) {
            return equation_.decomposition->block(ids[b]).cells;
        };
        const std::size_t blocks = x.size();
        Sources from;
        Targets to;
        for (std::size_t b = 0; b < blocks; ++b) {
            if (permuted_)
                copy(f[b], cells(b), copies_[b].view());
            to.push_back(permuted_ ? copies_[b].view() : x[b]);
            from.push_back(permuted_ ? View<const double>(to[b]) : f[b]);
        }
        if (there_) {
            const bool empty = modes_.layout().box(comm_.rank()).empty();
            const Targets slab = empty ? Targets{} : Targets{planes_.view()};
            redistribute(*there_, from, slab);
            const View<double> planes = empty ? View<double>{} : slab[0];
            modes_.solve(planes, planes);
            redistribute(*back_, {slab.begin(), slab.end()}, to);
        } else {
            modes_.solve(from[0], to[0]);
        }
        for (std::size_t b = 0; b < blocks && permuted_; ++b)
            copy_back(copies_[b].view(), x[b], cells(b));
        return {.solver = name()};
    }

    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] std::size_t bytes() const override {
        std::size_t bytes = modes_.bytes() + planes_.bytes();
        for (const BoxArray& copy : copies_)
            bytes += copy.bytes();
        return bytes;
    }

  private:
    void redistribute(domain::Redistribution<double>& way, const Sources& from, const Targets& to) {
        const parallel::Section section(sections_, parallel::section::transpose);
        way.run(from, to);
    }
    /// Return the layout in memory of `box` of an array, by the axes of the solver.
    template <class T>
    [[nodiscard]] domain::StridedBox layout(const View<T>& view, const Box<3>& box) const {
        return {view.offset(box.lower), permute(view.strides(), modes_.order()), 0};
    }
    void copy(const View<const double>& from, const Box<3>& box, const View<double>& to) const {
        domain::StridedCopy(to.box().extents(), 1)
            .run(from.data(), layout(from, box), to.data(), {0, to.strides(), 0});
    }
    void copy_back(const View<double>& from, const View<double>& to, const Box<3>& box) const {
        domain::StridedCopy(from.box().extents(), 1)
            .run(from.data(), {0, from.strides(), 0}, to.data(), layout(to, box));
    }

    Equation equation_;
    parallel::Communicator comm_;
    ModeSolver modes_;
    std::string name_;
    bool permuted_ = false;
    std::optional<domain::Redistribution<double>> there_,
        back_; ///< from and to the caller's blocks
    BoxArray planes_;
    std::vector<BoxArray> copies_; ///< of blocks, with the axes in the solver's order
    parallel::SectionMonitor& sections_;
};

} // namespace

std::string why_no_fft(const Equation& equation) {
    return equation.b ? "its coefficient varies" : why_no_modes(axes_of(equation));
}

bool is_fft_fast(const Equation& equation) { return are_modes_fast(axes_of(equation)); }

std::optional<std::size_t> slab_axis(std::string_view solver, const Equation& equation) {
    const bool direct = solver == "fft" || solver == "fft/partitioned" ||
                        (solver == "auto" && is_fft_fast(equation));
    if (!direct || !why_no_fft(equation).empty())
        return {};
    return ModeSolver::order_of(axes_of(equation))[2];
}

std::unique_ptr<LinearSolver> make_fft_solver(MPI_Comm comm, const Equation& equation,
                                              parallel::Traffic& traffic,
                                              parallel::SectionMonitor& sections,
                                              ColumnScheme scheme) {
    if (const std::string why = why_no_fft(equation); !why.empty())
        throw std::invalid_argument("the FFT solver cannot solve this equation: " + why);
    return std::make_unique<FftSolver>(comm, equation, traffic, sections, scheme);
}

} // namespace uzushio::linalg
