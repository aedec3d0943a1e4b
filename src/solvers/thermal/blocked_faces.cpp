#include "solvers/thermal/blocked_faces.hpp"

#include <algorithm>
#include <cmath>

#include "parallel/compensated_sum.hpp"

namespace uzushio::thermal {

BlockedFaces::BlockedFaces(const ImmersedGrid& immersed, const SurfacePatches& patches,
                           const Field& velocity)
    : patches_(patches.count()) {
    for (std::size_t b = 0; b < velocity.blocks(); ++b) {
        parts_.emplace_back();
        for (std::size_t a = 0; a < velocity.arrays(); ++a)
            parts_.back()[a] = part_of(immersed, patches, b, a, velocity.owned(b, a));
    }
}

BlockedFaces::Part BlockedFaces::part_of(const ImmersedGrid& immersed,
                                         const SurfacePatches& patches, std::size_t block,
                                         std::size_t a, const Box<3>& faces) const {
    Part part;
    const domain::Grid& grid = immersed.grid();
    const View<const double> open = std::as_const(*immersed.open()).view(block, a);
    const geometry::Lattice cells = immersed.lattice(block, 3);
    for_indices(faces, [&](const Index<3>& at) {
        if (open(at) != 0)
            return;
        const Index<3> below = moved(at, a, -1);
        const bool is_inner = cells.box.contains(below) && cells.box.contains(at);
        const bool fluid_below = is_inner && immersed.is_fluid(block, below);
        if (is_inner && fluid_below != immersed.is_fluid(block, at)) {
            const geometry::CutLink& cut = *immersed.cell_links(block, a).find(below);
            const Index<3>& cell = fluid_below ? below : at;
            const geometry::Crossing& crossing = fluid_below ? cut.lower : cut.upper;
            const double half = 0.5 * grid[a].width()[cell[a]];
            const double distance = std::abs(crossing.position - cells.position(a, cell[a]));
            Forced face{.at = at, .opposite = fluid_below ? -1 : 1};
            if (immersed.is_open(block, a, moved(at, a, face.opposite)))
                face.weight = (distance - half) / (distance + half);
            face.area = (fluid_below ? 1 : -1) * grid.side_area(a, at);
            face.patch = patches.patch(
                block, cell, immersed.body(fluid_below ? cut.lower_body : cut.upper_body));
            face.counted = at[a] + 1 < faces.upper[a];
            part.forced.push_back(face);
        } else if (!part.zero.empty() && part.zero.back().first[1] == at[1] &&
                   part.zero.back().first[2] == at[2] &&
                   part.zero.back().first[0] + part.zero.back().size == at[0]) {
            ++part.zero.back().size;
        } else {
            part.zero.push_back({at, 1});
        }
    });
    return part;
}

double BlockedFaces::Forced::defect(const View<const double>& velocity, std::size_t a) const {
    return (weight * velocity(moved(at, a, opposite)) - velocity(at)) /
           (1 + std::max(-weight, 0.0));
}

void BlockedFaces::relax(std::size_t block, std::size_t a, const View<const double>& velocity,
                         double time, const View<double>& derivative) const {
    const Part& part = parts_[block][a];
    for (const Forced& face : part.forced)
        derivative(face.at) = face.defect(velocity, a) / time;
    for (const Row& row : part.zero)
        std::fill_n(&derivative(row.first), row.size, 0.0);
}

void BlockedFaces::relax(Field& velocity) const {
    for (std::size_t b = 0; b < parts_.size(); ++b)
        for (std::size_t a = 0; a < velocity.arrays(); ++a) {
            const View<double> u = velocity.view(b, a);
            for (const Forced& face : parts_[b][a].forced)
                u(face.at) += face.defect(u, a);
        }
}

void BlockedFaces::balance(MPI_Comm comm, Field& velocity) {
    std::vector<parallel::CompensatedSum> sums(2 * patches_);
    for (std::size_t b = 0; b < parts_.size(); ++b)
        for (std::size_t a = 0; a < velocity.arrays(); ++a) {
            const View<const double> u = velocity.view(b, a);
            for (Forced& face : parts_[b][a].forced) {
                face.value = u(face.at);
                if (face.counted) {
                    sums[face.patch].add(face.area * face.value);
                    sums[patches_ + face.patch].add(std::abs(face.area));
                }
            }
        }
    std::vector<double> totals(sums.size());
    parallel::sum_over_ranks(sums.data(), totals.data(), sums.size(), comm);
    for (auto& parts : parts_)
        for (Part& part : parts)
            for (Forced& face : part.forced) {
                const double mean = totals[face.patch] / totals[patches_ + face.patch];
                face.value -= face.area > 0 ? mean : -mean;
            }
    restore(velocity);
}

void BlockedFaces::restore(Field& velocity) const {
    for (std::size_t b = 0; b < parts_.size(); ++b)
        for (std::size_t a = 0; a < velocity.arrays(); ++a) {
            const View<double> u = velocity.view(b, a);
            for (const Forced& face : parts_[b][a].forced)
                u(face.at) = face.value;
            for (const Row& row : parts_[b][a].zero)
                std::fill_n(&u(row.first), row.size, 0.0);
        }
}

} // namespace uzushio::thermal
