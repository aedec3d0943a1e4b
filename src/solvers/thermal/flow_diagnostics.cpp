#include <stdexcept>
#include <string>

#include "parallel/compensated_sum.hpp"
#include "solvers/thermal/flow_solver.hpp"

namespace uzushio::thermal {

using Kind = FaceCondition::Kind;

namespace {

/// Return the widths of the cells around the faces of an axis, half of those beside a boundary.
std::vector<double> widths_of_faces(const domain::GridAxis& axis) {
    std::vector<double> result;
    for (std::int64_t face = 0; face <= axis.cells(); ++face)
        result.push_back((axis.is_boundary(face) ? 0.25 : 0.5) *
                         (axis.width()[face - 1] + axis.width()[face]));
    return result;
}

} // namespace

double FlowSolver::kinetic_energy() {
    parallel::CompensatedSum sum;
    const domain::Field<double>& velocity = field("face_velocity");
    for (std::size_t a = 0; a < velocity.arrays(); ++a) {
        const std::vector<double> around = widths_of_faces(grid_[a]);
        std::array<const double*, 3> widths{};
        for (std::size_t t = 0; t < 3; ++t)
            widths[t] = t == a ? around.data() : grid_[t].width();
        for (std::size_t b = 0; b < blocks(); ++b) {
            const View<const double> u = velocity.view(b, a);
            Box<3> faces = block(b).cells(); // the upper face belongs to the next block …
            if (grid_[a].is_boundary(faces.upper[a]))
                ++faces.upper[a]; // … or to the boundary
            for_rows(faces, [&](const Index<3>& first, std::int64_t size) {
                const double* row = &u(first);
                const double* width = widths[0] + first[0];
                const double across = 0.5 * widths[1][first[1]] * widths[2][first[2]];
                sum.add(0, static_cast<int>(size),
                        [=](int n) { return row[n] * row[n] * (across * width[n]); });
            });
        }
    }
    return parallel::sum_over_ranks(sum, comm());
}

std::array<double, 6> FlowSolver::scalar_fluxes(std::size_t scalar) {
    const Scalar& quantity = flow_.scalars.at(scalar);
    std::array<double, 6> result{};
    for (const auto& [face, condition] : conditioned_faces(flow_)) {
        const ScalarCondition& given = condition->scalars[scalar];
        const bool fixed =
            given.fixed && (condition->kind == Kind::wall || condition->kind == Kind::inflow);
        const std::size_t number = 2 * face.axis + (face.is_upper() ? 1 : 0);
        if (condition->kind != Kind::wall && !fixed)
            continue;
        parallel::CompensatedSum sum;
        const double width = grid_.width_at(face);
        for (std::size_t b = 0; b < blocks(); ++b) {
            const View<const double> values = std::as_const(field(quantity.name)).view(b);
            for_indices(
                grid_.cells_at(face, block(b).cells()), [&, &face = face](const Index<3>& at) {
                    const double conductivity =
                        bodies_ ? bodies_->conductivity(b, scalar, at) : 1.0; // 0: no flux
                    const double flux = fixed ? conductivity * quantity.diffusivity *
                                                    (given.value - values(at)) / (0.5 * width)
                                              : (conductivity > 0 ? given.value : 0);
                    sum.add(flux * grid_.side_area(face.axis, at));
                });
        }
        result[number] = parallel::sum_over_ranks(sum, comm()) / grid_.area(face);
    }
    return result;
}

std::vector<Vector> FlowSolver::body_forces() {
    if (!bodies_)
        return {};
    update_derived(false); // ghosts
    return bodies_->forces(flow_blocks(), field("pressure"));
}

std::vector<double> FlowSolver::body_fluxes(std::size_t scalar) {
    if (!bodies_)
        return {};
    if (scalar >= flow_.scalars.size())
        throw std::out_of_range("there is no scalar " + std::to_string(scalar));
    update_derived(false); // ghosts
    return bodies_->fluxes(flow_blocks(), scalar);
}

} // namespace uzushio::thermal
