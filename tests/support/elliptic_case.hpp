#pragma once

#include <mpi.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "domain/decomposition.hpp"
#include "domain/field.hpp"
#include "linalg/equation.hpp"

namespace uzushio::linalg {

using domain::Box;
using domain::Decomposition;
using domain::Field;
using domain::Index;
using Ends = std::array<Condition, 2>;

inline int ranks() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}
inline int rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/// All pairs of conditions that an axis can have.
inline const std::vector<Ends>& all_ends() {
    using enum Condition;
    static const std::vector<Ends> all{{periodic, periodic},
                                       {neumann, neumann},
                                       {dirichlet, dirichlet},
                                       {neumann, dirichlet},
                                       {dirichlet, neumann}};
    return all;
}

/// Positions of the faces of `cells` cells of [0, length]; stretched: small cells at both ends.
inline std::vector<double> faces_of(std::int64_t cells, double length, bool stretched) {
    std::vector<double> faces;
    for (std::int64_t i = 0; i <= cells; ++i) {
        const double at = static_cast<double>(i) / static_cast<double>(cells);
        faces.push_back(length * (stretched ? at - 0.12 * std::sin(2 * std::acos(-1.0) * at) : at));
    }
    return faces;
}

/// Box of cells with conditions at its faces.
struct EllipticCase {
    Index<3> cells{};
    std::array<Ends, 3> ends{};
    std::array<bool, 3> stretched{};
    std::array<double, 3> lengths{1.0, 1.3, 0.8};
    double s = 0;
    int dimension = 3;
    /// Coefficient of the face below cell `index` along an axis; none: 1.
    std::function<double(std::size_t axis, const Index<3>& index)> b{};

    [[nodiscard]] std::shared_ptr<const domain::Mesh> mesh() const {
        std::array<std::vector<double>, 3> faces;
        for (std::size_t a = 0; a < 3; ++a)
            faces[a] = faces_of(cells[a], lengths[a], stretched[a]);
        return domain::box_mesh(dimension, faces,
                                [&](const domain::Face& face) -> std::optional<std::string> {
                                    const Condition end = ends[face.axis][face.is_upper() ? 1 : 0];
                                    if (end == Condition::periodic)
                                        return {};
                                    return end == Condition::dirichlet ? "value" : "gradient";
                                });
    }
    [[nodiscard]] Equation equation(Decomposition decomposition, int rank = 0) const {
        Equation equation{std::make_shared<Decomposition>(std::move(decomposition)),
                          {{"value", Condition::dirichlet}, {"gradient", Condition::neumann}},
                          s};
        if (!b)
            return equation;
        const domain::FieldSpec spec{.name = "b", .centring = domain::Centring::face};
        const auto field = std::make_shared<Field<double>>(*equation.decomposition, rank, spec);
        for (std::size_t block = 0; block < field->blocks(); ++block)
            for (std::size_t a = 0; a < field->arrays(); ++a)
                for_indices(field->owned(block, a),
                            [&](const Index<3>& i) { field->view(block, a)(i) = b(a, i); });
        equation.b = field;
        return equation;
    }
    [[nodiscard]] Equation equation(int ranks, int rank = 0) const {
        return equation(Decomposition::cartesian(mesh(), ranks), rank);
    }
    [[nodiscard]] std::size_t at(const Index<3>& i) const {
        return static_cast<std::size_t>(i[0] + cells[0] * (i[1] + cells[1] * i[2]));
    }
    [[nodiscard]] std::size_t size() const {
        return static_cast<std::size_t>(Box<3>::of(cells).volume());
    }
    [[nodiscard]] bool singular() const { return is_singular(equation(1)); }
};

/// Return A x of a whole box, one flux at a time.
inline std::vector<double> applied(const EllipticCase& c, const std::vector<double>& x) {
    const auto axes = axes_of(c.equation(1));
    std::vector<double> result(x.size());
    for_indices(Box<3>::of(c.cells), [&](const Index<3>& i) {
        double sum = -c.s * x[c.at(i)];
        for (std::size_t a = 0; a < static_cast<std::size_t>(c.dimension); ++a)
            for (const int side : {0, 1}) {
                Index<3> face = i;
                face[a] += side;
                Index<3> next = i;
                next[a] += side == 0 ? -1 : 1;
                const bool inside = next[a] >= 0 && next[a] < c.cells[a];
                if (!inside && c.ends[a][0] != Condition::periodic &&
                    c.ends[a][std::size_t(side)] == Condition::neumann)
                    continue;
                next[a] = (next[a] + c.cells[a]) % c.cells[a];
                const auto w = [&](std::int64_t cell) { return axes[a].widths[std::size_t(cell)]; };
                const bool wall = !inside && c.ends[a][0] != Condition::periodic;
                const double distance = wall ? 0.5 * w(i[a]) : 0.5 * (w(i[a]) + w(next[a]));
                const double other = wall ? 0.0 : x[c.at(next)];
                sum += (c.b ? c.b(a, face) : 1.0) * (other - x[c.at(i)]) / distance / w(i[a]);
            }
        result[c.at(i)] = sum;
    });
    return result;
}

/// Return random values; with zero mean over the volume if the equation is singular.
inline std::vector<double> random_solution(const EllipticCase& c, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> x(c.size());
    for (double& value : x)
        value = uniform(random);
    if (!c.singular())
        return x;
    const auto axes = axes_of(c.equation(1));
    double sum = 0;
    double volume = 0;
    for_indices(Box<3>::of(c.cells), [&](const Index<3>& i) {
        double cell = 1;
        for (std::size_t a = 0; a < 3; ++a)
            cell *= axes[a].widths[std::size_t(i[a])];
        sum += cell * x[c.at(i)];
        volume += cell;
    });
    for (double& value : x)
        value -= sum / volume;
    return x;
}

/// Return a field with this rank's part of the values.
inline Field<double> field_of(const EllipticCase& c, const Decomposition& decomposition, int rank,
                              const std::vector<double>& values, int ghosts = 1) {
    Field<double> field(decomposition, rank, {.name = "x", .ghosts = ghosts});
    for (std::size_t b = 0; b < field.blocks(); ++b)
        for_indices(field.owned(b), [&](const Index<3>& i) { field.view(b)(i) = values[c.at(i)]; });
    return field;
}

/// Return the largest difference of this rank's values from those of a whole box.
inline double difference(const EllipticCase& c, const Field<double>& field,
                         const std::vector<double>& values) {
    double largest = 0;
    for (std::size_t b = 0; b < field.blocks(); ++b)
        for_indices(field.owned(b), [&](const Index<3>& i) {
            const double d = std::abs(field.view(b)(i) - values[c.at(i)]);
            largest = d <= largest ? largest : d; // NaN too
        });
    return largest;
}

} // namespace uzushio::linalg
