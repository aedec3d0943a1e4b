#include "linalg/closed_regions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "domain/halo_exchange.hpp"
#include "linalg/linear_solver.hpp"
#include "parallel/compensated_sum.hpp"

namespace uzushio::linalg {

namespace {

using domain::Box;
using domain::Index;
using Field = domain::Field<double>;

/// Label of cells whose value is determined: isolated, or connected to a Dirichlet face.
constexpr double determined = -1;

/// Components of the cells of one block that faces inside of it connect (union-find).
class Components {
  public:
    explicit Components(std::size_t cells) : parents_(cells), labels_(cells) {
        std::iota(parents_.begin(), parents_.end(), std::size_t{0});
    }
    void set_label(std::size_t cell, double label) { labels_[cell] = label; }
    [[nodiscard]] double label(std::size_t cell) { return labels_[root(cell)]; }
    /// Lower the label of a cell's component, and return whether that changes it.
    bool lower(std::size_t cell, double label) {
        double& own = labels_[root(cell)];
        const bool changes = label < own;
        own = std::min(own, label);
        return changes;
    }
    void join(std::size_t label, std::size_t other) {
        const std::size_t a = root(label), b = root(other);
        labels_[std::min(a, b)] = std::min(labels_[a], labels_[b]);
        parents_[std::max(a, b)] = std::min(a, b);
    }

  private:
    std::size_t root(std::size_t cell) {
        while (parents_[cell] != cell)
            cell = parents_[cell] = parents_[parents_[cell]];
        return cell;
    }
    std::vector<std::size_t> parents_;
    std::vector<double> labels_; ///< of roots
};

std::size_t place(const Box<3>& box, const Index<3>& at) {
    const Index<3> n = box.extents();
    return static_cast<std::size_t>(at[0] - box.lower[0] +
                                    n[0] * (at[1] - box.lower[1] + n[1] * (at[2] - box.lower[2])));
}

std::int64_t number_of(const std::array<Axis, 3>& axes, const Index<3>& at) {
    return at[0] + axes[0].cells() * (at[1] + std::int64_t{axes[1].cells()} * at[2]);
}

/// Face of a cell through which something passes, and the cell beyond it.
struct OpenFace {
    Index<3> beyond;
    bool is_boundary; ///< a Dirichlet face
};

/// Call `visit(face)` for the open faces of a cell.
template <class Visit>
void for_open_faces(const std::array<Axis, 3>& axes, const Field& b, std::size_t block,
                    const Index<3>& at, Visit&& visit) {
    for (std::size_t a = 0; a < b.arrays(); ++a)
        for (const bool upper : {false, true}) {
            const Index<3> face = domain::moved(at, a, upper ? 1 : 0);
            if (axes[a].reciprocal_distance(static_cast<int>(face[a])) == 0 ||
                b.view(block, a)(face) == 0)
                continue;
            const Index<3> beyond = domain::moved(at, a, upper ? 1 : -1);
            const bool outside = beyond[a] < 0 || beyond[a] >= axes[a].cells();
            visit(OpenFace{beyond, outside && !axes[a].periodic()});
        }
}

/// Return the components of a block, labelled by the number of their first cell.
Components components_of(const std::array<Axis, 3>& axes, const Field& b, std::size_t block,
                         const Box<3>& cells) {
    Components components(static_cast<std::size_t>(cells.volume()));
    for_indices(cells, [&](const Index<3>& at) {
        bool isolated = true, fixed = false;
        for_open_faces(axes, b, block, at, [&](const OpenFace& face) {
            isolated = false;
            fixed = fixed || face.is_boundary;
        });
        components.set_label(place(cells, at), isolated || fixed
                                                   ? determined
                                                   : static_cast<double>(number_of(axes, at)));
    });
    for_indices(cells, [&](const Index<3>& at) {
        for_open_faces(axes, b, block, at, [&](const OpenFace& face) {
            if (cells.contains(face.beyond))
                components.join(place(cells, at), place(cells, face.beyond));
        });
    });
    return components;
}

/// Return the distinct values of all ranks, ascending.
std::vector<std::int64_t> united(MPI_Comm comm, std::vector<std::int64_t> values) {
    const auto reduce = [](std::vector<std::int64_t>& all) {
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
    };
    reduce(values);
    int size = 0;
    MPI_Comm_size(comm, &size);
    std::vector<int> counts(static_cast<std::size_t>(size)), starts(counts.size());
    const int own = static_cast<int>(values.size());
    MPI_Allgather(&own, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
    std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
    std::vector<std::int64_t> all(static_cast<std::size_t>(starts.back() + counts.back()));
    MPI_Allgatherv(values.data(), own, MPI_INT64_T, all.data(), counts.data(), starts.data(),
                   MPI_INT64_T, comm);
    reduce(all);
    return all;
}

} // namespace

ClosedRegions::ClosedRegions(MPI_Comm comm, const Equation& equation, const Field& b,
                             const std::array<Axis, 3>& axes, const domain::FieldSpec& spec,
                             int rank, parallel::Traffic& traffic)
    : comm_(comm), axes_(axes) {
    const domain::Decomposition& decomposition = *equation.decomposition;
    Field labels(decomposition, rank, spec);
    domain::HaloExchange<double> halo(comm, decomposition, {spec}, domain::Reach::faces, traffic);
    std::vector<Components> blocks;
    for (std::size_t block = 0; block < labels.blocks(); ++block)
        blocks.push_back(components_of(axes, b, block, labels.owned(block)));
    // The least label spreads through the faces between blocks.
    for (int changes = 1; changes != 0;) {
        for (std::size_t block = 0; block < labels.blocks(); ++block)
            for_indices(labels.owned(block), [&](const Index<3>& at) {
                labels.view(block)(at) = blocks[block].label(place(labels.owned(block), at));
            });
        halo.exchange(labels);
        changes = 0;
        for (std::size_t block = 0; block < labels.blocks(); ++block)
            for_indices(labels.owned(block), [&](const Index<3>& at) {
                for_open_faces(axes, b, block, at, [&](const OpenFace& face) {
                    if (!face.is_boundary && !labels.owned(block).contains(face.beyond) &&
                        blocks[block].lower(place(labels.owned(block), at),
                                            labels.view(block)(face.beyond)))
                        changes = 1;
                });
            });
        MPI_Allreduce(MPI_IN_PLACE, &changes, 1, MPI_INT, MPI_MAX, comm);
    }
    std::vector<std::int64_t> own_labels;
    for (std::size_t block = 0; block < labels.blocks(); ++block)
        for_indices(labels.owned(block), [&](const Index<3>& at) {
            if (const double label = labels.view(block)(at); label != determined)
                own_labels.push_back(static_cast<std::int64_t>(label));
        });
    labels_ = united(comm, std::move(own_labels));
    if (is_singular(equation) && labels_.size() <= 1)
        labels_.clear();
    if (empty())
        return;
    for (std::size_t block = 0; block < labels.blocks(); ++block) {
        auto& regions = regions_.emplace_back();
        for_indices(labels.owned(block), [&](const Index<3>& at) {
            const double label = labels.view(block)(at);
            const auto position = std::lower_bound(labels_.begin(), labels_.end(), label);
            regions.push_back(
                label == determined ? -1 : static_cast<std::int32_t>(position - labels_.begin()));
        });
    }
    volumes_ = integrals(labels, [](double) { return 1.0; });
}

template <class Visit> void ClosedRegions::for_cells(const Field& x, Visit&& visit) const {
    for (std::size_t block = 0; block < regions_.size(); ++block) {
        std::size_t cell = 0;
        for_indices(x.owned(block), [&](const Index<3>& at) {
            if (const std::int32_t region = regions_[block][cell++]; region >= 0)
                visit(block, at, static_cast<std::size_t>(region));
        });
    }
}

template <class Value>
std::vector<double> ClosedRegions::integrals(const Field& x, Value&& value) const {
    std::vector<parallel::CompensatedSum> sums(labels_.size());
    for_cells(x, [&](std::size_t block, const Index<3>& at, std::size_t region) {
        double volume = 1;
        for (std::size_t a = 0; a < 3; ++a)
            volume *= axes_[a].widths[static_cast<std::size_t>(at[a])];
        sums[region].add(volume * value(x.view(block)(at)));
    });
    std::vector<double> totals(sums.size());
    parallel::sum_over_ranks(sums.data(), totals.data(), sums.size(), comm_);
    return totals;
}

void ClosedRegions::check(const Field& f) const {
    const auto sums = integrals(f, [](double value) { return value; });
    const auto magnitudes = integrals(f, [](double value) { return std::abs(value); });
    const double all = std::accumulate(magnitudes.begin(), magnitudes.end(), 0.0);
    for (std::size_t region = 0; region < sums.size(); ++region) {
        if (is_balanced(sums[region], all))
            continue;
        const std::int64_t cell = labels_[region], row = axes_[0].cells();
        const std::int64_t plane = row * axes_[1].cells();
        std::ostringstream text;
        text
            << "the equation has no solution: faces on which b is 0 close off a region of the "
               "volume "
            << volumes_[region] << " around cell (" << cell % row << ", " << cell % plane / row
            << ", " << cell / plane
            << "), at none of whose faces a value is given, so the integral of the right-hand side "
               "over it must be 0, but it is "
            << sums[region] << "; subtract its mean there, or open a face";
        throw std::invalid_argument(text.str());
    }
}

void ClosedRegions::subtract_means(Field& x) const {
    auto means = integrals(x, [](double value) { return value; });
    for (std::size_t region = 0; region < means.size(); ++region)
        means[region] /= volumes_[region];
    for_cells(x, [&](std::size_t block, const Index<3>& at, std::size_t region) {
        x.view(block)(at) -= means[region];
    });
}

} // namespace uzushio::linalg
