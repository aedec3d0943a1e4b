// Stable step and resources of `FlowSolver`.
#include <algorithm>
#include <cmath>
#include <limits>

#include "domain/parts.hpp"
#include "solvers/thermal/flow_solver.hpp"

namespace uzushio::thermal {

using domain::SolverBlock;

double FlowSolver::stable_dt(const SolverBlock& block) {
    // Limits of three-stage schemes of order three along the imaginary and the real axis.
    const auto conducts = [](const Body& body) {
        return std::any_of(body.scalars.begin(), body.scalars.end(), [](const auto& condition) {
            return condition.kind == BodyCondition::Kind::conjugate;
        });
    };
    // No limiter acts on conduction in bodies: below 2 each stage of it keeps bounds.
    const bool bounded = flow_.scheme == Scheme::van_leer &&
                         std::any_of(flow_.bodies.begin(), flow_.bodies.end(), conducts);
    const double advection = std::sqrt(3.0), diffusion = bounded ? 2 : 2.51;
    double diffusivity = flow_.viscosity;
    for (std::size_t s = 0; s < flow_.scalars.size(); ++s) {
        // Of conductors in series the better one may fill nearly the whole link to either cell.
        double conductivity = 1;
        for (const Body& body : flow_.bodies)
            conductivity = std::max(conductivity, body.scalars[s].conductivity);
        double ratio = conductivity;
        for (const Body& body : flow_.bodies)
            ratio = std::max(ratio, conductivity / body.scalars[s].capacity);
        diffusivity = std::max(diffusivity, ratio * flow_.scalars[s].diffusivity);
    }
    const auto rate = [=](double lower, double upper, double inverse, double diffused) {
        return inverse * (std::max(std::abs(lower), std::abs(upper)) / advection +
                          4 * diffused / diffusion * inverse);
    };
    const FlowBlock fields = block_of(block);
    const Box<3>& cells = block.cells();
    const bool flat = flow_.dimension == 2;
    double largest = 0;
    const auto scan = [&](const auto& diffused_in) {
        const auto scan_part = [&](double& most, std::size_t, const Box<3>& part) {
            double fastest = 0;
            for_rows(part, [&](const Index<3>& first, std::int64_t size) {
                std::array<const double*, 3> lower{}, upper{};
                for (std::size_t a = 0; a < 3; ++a) {
                    const std::size_t axis = flat && a == 2 ? 0 : a; // values for the factor 0
                    const View<const double>& u = fields.velocity[axis];
                    lower[a] = u.data() + u.offset(first);
                    upper[a] = lower[a] + u.strides()[axis];
                }
                const double* width = grid_[0].inverse_width() + first[0];
                const double along_j = grid_[1].inverse_width()[first[1]];
                const double along_k = flat ? 0 : grid_[2].inverse_width()[first[2]];
                const auto diffused = diffused_in(first);
#pragma omp simd reduction(max : fastest)
                for (std::int64_t n = 0; n < size; ++n) {
                    const double d = diffused(n);
                    const double sum = rate(lower[0][n], upper[0][n], width[n], d) +
                                       rate(lower[1][n], upper[1][n], along_j, d) +
                                       rate(lower[2][n], upper[2][n], along_k, d);
                    fastest = std::max(fastest, sum);
                }
            });
            most = std::max(most, fastest);
        };
        for (const double fastest :
             domain::results_of_parts<double>(std::span(&cells, 1), scan_part))
            largest = std::max(largest, fastest);
    };
    if (flow_.subgrid.kind != SubgridModel::Kind::none) {
        // The eddy viscosity grows with the strain: a change of it diffuses about twice as fast.
        const double factor = std::max(2.0, 1 / flow_.subgrid.prandtl);
        const View<const double> eddies = block.field("eddy_viscosity");
        scan([&](const Index<3>& first) {
            return
                [=, row = &eddies(first)](std::int64_t n) { return diffusivity + factor * row[n]; };
        });
    } else {
        scan([&](const Index<3>&) { return [=](std::int64_t) { return diffusivity; }; });
    }
    return 1 / std::max(largest, std::numeric_limits<double>::min());
}

void FlowSolver::add_own(const domain::Decomposition& decomposition,
                         domain::SolverEstimate& estimate) const {
    const std::int64_t stages = domain::stages_of(flow_.time_scheme);
    const auto exchange = [&](const std::vector<domain::FieldSpec>& specs, std::int64_t times) {
        const auto halo = domain::halo_volume(decomposition, specs, domain::Reach::faces);
        estimate.halo_messages += times * halo.max_rank_messages;
        estimate.halo_bytes += times * halo.max_rank_bytes;
        estimate.bytes += 2 * halo.max_rank_bytes;
    };
    exchange({{.name = "pressure", .ghosts = 1}}, stages);
    estimate.bytes += estimate.cells * static_cast<std::int64_t>(sizeof(double)); // divergence
    if (flow_.scheme != Scheme::van_leer || flow_.scalars.empty())
        return;
    const auto add = [&](const std::vector<domain::FieldSpec>& specs, std::size_t times) {
        for (const domain::FieldSpec& spec : specs) {
            const bool at_faces = spec.centring == domain::Centring::face;
            const std::int64_t values = at_faces ? flow_.dimension : spec.components;
            estimate.bytes += static_cast<std::int64_t>(times) * values * estimate.cells *
                              static_cast<std::int64_t>(sizeof(double));
        }
    };
    const std::size_t scalars = flow_.scalars.size();
    add(BoundedTransport::own_specs(), scalars);
    add(BoundedTransport::shared_specs(), 1);
    exchange(std::vector(scalars, BoundedTransport::own_specs().front()), stages);
    exchange({BoundedTransport::shared_specs().back()}, static_cast<std::int64_t>(scalars));
}

} // namespace uzushio::thermal
