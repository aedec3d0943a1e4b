#include <stdexcept>
#include <string>

#include "parallel/compensated_sum.hpp"
#include "thermal/box_faces.hpp"
#include "thermal/flow_solver.hpp"

namespace uzushio::thermal {

using domain::Box;
using domain::Index;
using domain::View;
using Kind = FaceCondition::Kind;

double FlowSolver::kinetic_energy() {
    parallel::CompensatedSum sum;
    const domain::Field<double>& velocity = field("face_velocity");
    for (std::size_t b = 0; b < blocks(); ++b)
        for (std::size_t a = 0; a < velocity.arrays(); ++a) {
            const linalg::Axis& axis = axes_[a];
            const View<const double> u = velocity.view(b, a);
            Box<3> faces = block(b).cells(); // the upper face belongs to the next block …
            if (!axis.periodic() && faces.upper[a] == axis.cells())
                ++faces.upper[a]; // … or to the boundary
            for_indices(faces, [&](const Index<3>& at) {
                double volume = 1;
                for (std::size_t t = 0; t < 3; ++t) {
                    const auto width = [&](std::int64_t cell) {
                        if (axes_[t].periodic())
                            cell = (cell + axes_[t].cells()) % axes_[t].cells();
                        return cell < 0 || cell >= axes_[t].cells()
                                   ? 0.0
                                   : axes_[t].widths[static_cast<std::size_t>(cell)];
                    };
                    volume *= t == a ? 0.5 * (width(at[t] - 1) + width(at[t])) : width(at[t]);
                }
                sum.add(0.5 * u(at) * u(at) * volume);
            });
        }
    return parallel::sum_over_ranks(sum, comm());
}

std::array<double, 6> FlowSolver::scalar_fluxes(std::size_t scalar) {
    const Scalar& one = flow_.scalars.at(scalar);
    std::array<double, 6> result{};
    for (const auto& [face, condition] : named_faces(flow_)) {
        const ScalarCondition& given = condition->scalars[scalar];
        const bool fixed =
            given.fixed && (condition->kind == Kind::wall || condition->kind == Kind::inflow);
        const std::size_t number = 2 * face.axis + (face.is_upper() ? 1 : 0);
        if (!fixed) {
            result[number] = condition->kind == Kind::wall ? given.value : 0;
            continue;
        }
        parallel::CompensatedSum sum;
        const double width =
            face.is_upper() ? axes_[face.axis].widths.back() : axes_[face.axis].widths.front();
        for (std::size_t b = 0; b < blocks(); ++b)
            for_indices(layer_at(face, block(b).cells(), axes_), [&, &face =
                                                                         face](const Index<3>& at) {
                double area = 1;
                for (std::size_t a = 0; a < 3; ++a)
                    area *= a == face.axis ? 1 : axes_[a].widths[static_cast<std::size_t>(at[a])];
                sum.add(one.diffusivity * (given.value - field(one.name).view(b)(at)) /
                        (0.5 * width) * area);
            });
        result[number] = parallel::sum_over_ranks(sum, comm()) / area_of(face, axes_);
    }
    return result;
}

std::vector<domain::Vector> FlowSolver::body_forces() {
    if (!bodies_)
        return {};
    update_derived(); // ghosts
    return bodies_->forces(flow_blocks(), field("pressure"));
}

std::vector<double> FlowSolver::body_fluxes(std::size_t scalar) {
    if (!bodies_)
        return {};
    if (scalar >= flow_.scalars.size())
        throw std::out_of_range("there is no scalar " + std::to_string(scalar));
    update_derived(); // ghosts
    return bodies_->fluxes(flow_blocks(), scalar);
}

} // namespace uzushio::thermal
