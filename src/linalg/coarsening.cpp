#include "linalg/coarsening.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "domain/process_counts.hpp"

namespace uzushio::linalg {

using domain::Block;
using domain::Index;

Coarsened coarsened_axes(const std::array<Axis, 3>& axes) {
    // Mean flux coefficient; a stretched axis counts with its narrow cells.
    std::array<double, 3> strength{};
    double strongest = 0;
    for (std::size_t a = 0; a < 3; ++a) {
        if (!axes[a].used || axes[a].cells() < 3)
            continue;
        double sum = 0;
        for (const double width : axes[a].widths)
            sum += 1 / (width * width);
        strength[a] = sum / axes[a].cells();
        strongest = std::max(strongest, strength[a]);
    }
    Coarsened joined{};
    for (std::size_t a = 0; a < 3; ++a)
        joined[a] = strength[a] > 0 && strength[a] > 0.3 * strongest;
    return joined;
}

Axis coarse_axis(const Axis& axis) {
    Axis coarse = axis;
    coarse.widths.clear();
    for (std::size_t i = 0; i < axis.widths.size(); i += 2)
        coarse.widths.push_back(axis.widths[i] +
                                (i + 1 < axis.widths.size() ? axis.widths[i + 1] : 0.0));
    coarse.uniform = axis.uniform && axis.widths.size() % 2 == 0;
    return coarse;
}

std::int64_t coarse_cells(std::int64_t cells, int times) {
    for (; times > 0; --times)
        cells = (cells + 1) / 2;
    return cells;
}

Equation equation_on(const Equation& like, const std::array<Axis, 3>& axes,
                     std::vector<Block> blocks) {
    const domain::Mesh& mesh = like.decomposition->mesh();
    std::array<std::vector<double>, 3> vertices;
    for (std::size_t a = 0; a < 3; ++a) {
        vertices[a].push_back(0);
        for (const double width : axes[a].widths)
            vertices[a].push_back(vertices[a].back() + width);
    }
    const auto condition = [&](const domain::Face& face) -> std::optional<std::string> {
        const domain::Zone& old = mesh.zone(0);
        const auto whole = domain::Patch::whole(face, old.cells);
        for (const domain::BoundaryPatch& boundary : old.boundaries)
            if (boundary.patch == whole)
                return boundary.condition;
        return {};
    };
    Equation equation = like;
    equation.b = nullptr;
    equation.decomposition = std::make_shared<domain::Decomposition>(
        domain::box_mesh(mesh.dimension(), vertices, condition), std::move(blocks),
        like.decomposition->ranks());
    return equation;
}

std::vector<Block> aligned_blocks(const Index<3>& cells, const std::array<int, 3>& times, int ranks,
                                  std::int64_t least) {
    Index<3> coarse{}, units{};
    std::int64_t most = 1;
    for (std::size_t a = 0; a < 3; ++a) {
        units[a] = std::int64_t{1} << times[a];
        coarse[a] = coarse_cells(cells[a], times[a]);
        most *= std::max<std::int64_t>(1, coarse[a] / least);
    }
    domain::PartCounts counts{};
    for (int parts = static_cast<int>(std::min<std::int64_t>(ranks, most)); parts > 0; --parts) {
        counts = domain::min_surface_counts(coarse, parts);
        bool large = counts[0] > 0;
        for (std::size_t a = 0; a < 3; ++a)
            large = large && (counts[a] == 1 || coarse[a] / counts[a] >= least);
        if (large)
            break;
    }
    std::vector<Block> blocks;
    for (int rank = 0; rank < counts[0] * counts[1] * counts[2]; ++rank) {
        const domain::Box<3> part =
            domain::part_box(domain::Box<3>::of(cells), counts, rank, units);
        blocks.push_back({rank, 0, rank, part});
    }
    return blocks;
}

std::vector<Block> coarse_blocks(const std::vector<Block>& blocks, const Coarsened& joined) {
    std::vector<Block> coarse = blocks;
    for (Block& block : coarse)
        for (std::size_t a = 0; a < 3; ++a)
            if (joined[a]) {
                block.cells.lower[a] /= 2;
                block.cells.upper[a] = (block.cells.upper[a] + 1) / 2;
            }
    return coarse;
}

bool fits(const std::vector<Block>& blocks, const Index<3>& cells, const Coarsened& joined) {
    return std::all_of(blocks.begin(), blocks.end(), [&](const Block& block) {
        for (std::size_t a = 0; a < 3; ++a)
            if (joined[a] && (block.cells.lower[a] % 2 != 0 ||
                              (block.cells.upper[a] % 2 != 0 && block.cells.upper[a] != cells[a])))
                return false;
        return true;
    });
}

} // namespace uzushio::linalg
