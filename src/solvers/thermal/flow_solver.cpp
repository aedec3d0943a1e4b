#include "solvers/thermal/flow_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include "domain/halo_exchange.hpp"
#include "domain/parts.hpp"
#include "linalg/fft_solver.hpp"
#include "solvers/thermal/boundary_conditions.hpp"
#include "solvers/thermal/eddy_viscosity.hpp"
#include "solvers/thermal/sources.hpp"
#include "solvers/thermal/subgrid.hpp"
#include "solvers/thermal/transport.hpp"

namespace uzushio::thermal {

namespace {

using domain::FieldKind;
using domain::SolverBlock;
using Kind = FaceCondition::Kind;

constexpr const char* velocity_name = "face_velocity";
constexpr const char* eddy_name = "eddy_viscosity";
constexpr const char* fluid_name = "fluid";

/// Projections of the initial fields: velocities at blocked faces depend on those around them.
constexpr int initial_projections = 4;

bool has_model(const FlowParameters& flow) { return flow.subgrid.kind != SubgridModel::Kind::none; }

int ghosts_of(const FlowParameters& flow) { return flow.scheme == Scheme::central ? 1 : 2; }

} // namespace

FlowSolver::FlowSolver(FlowParameters flow)
    : flow_(checked(std::move(flow))), grid_(*mesh_of(flow_), ghosts_of(flow_) + 1) {}

domain::SolverDeclaration FlowSolver::declare() const {
    const int ghosts = ghosts_of(flow_);
    domain::SolverDeclaration result;
    result.mesh = mesh_of(flow_);
    result.scheme = flow_.time_scheme;
    result.uses_centres = false;
    result.counts = flow_.counts;
    if (flow_.bodies.empty()) {
        linalg::Equation pressure{.decomposition = std::make_shared<domain::Decomposition>(
                                      domain::Decomposition::cartesian(result.mesh, 1))};
        for (const auto& [name, condition] : flow_.faces)
            pressure.conditions[name] = linalg::Condition::neumann;
        result.slab_axis = linalg::slab_axis(flow_.solver, pressure);
    }

    domain::FieldDeclaration velocity;
    velocity.spec.name = velocity_name;
    velocity.spec.ghosts = ghosts;
    velocity.spec.centring = domain::Centring::face;
    velocity.description = "velocity normal to cell sides";
    for (const auto& [face, condition] : conditioned_faces(flow_))
        velocity.boundaries[face.name()] = velocity_ghosts(*condition);
    result.fields.push_back(std::move(velocity));

    for (std::size_t s = 0; s < flow_.scalars.size(); ++s) {
        const Scalar& scalar = flow_.scalars[s];
        domain::FieldDeclaration field;
        field.spec.name = scalar.name;
        field.spec.ghosts = ghosts;
        field.unit = scalar.unit;
        for (const auto& [face, condition] : conditioned_faces(flow_))
            field.boundaries[face.name()] = scalar_ghosts(*condition, condition->scalars[s],
                                                          scalar.diffusivity, grid_[face.axis]);
        result.fields.push_back(std::move(field));
    }

    if (has_model(flow_)) {
        domain::FieldDeclaration eddies;
        eddies.spec.name = eddy_name;
        eddies.spec.ghosts = 1;
        eddies.kind = FieldKind::derived;
        eddies.description = "eddy viscosity of the subgrid model";
        for (const auto& [face, condition] : conditioned_faces(flow_))
            eddies.boundaries[face.name()] = eddy_ghosts(*condition);
        result.fields.push_back(std::move(eddies));
        result.reach = domain::Reach::edges;
        result.stable_dt_reads_derived = true;
    }

    domain::FieldDeclaration pressure;
    pressure.spec.name = "pressure";
    pressure.spec.ghosts = 1;
    pressure.kind = FieldKind::projected;
    pressure.description = "pressure over density";
    result.fields.push_back(std::move(pressure));

    domain::FieldDeclaration centred;
    centred.spec.name = "velocity";
    centred.spec.components = flow_.dimension;
    centred.kind = FieldKind::output;
    centred.description = "velocity at cell centres";
    result.fields.push_back(std::move(centred));

    if (!flow_.bodies.empty()) {
        domain::FieldDeclaration fluid;
        fluid.spec.name = fluid_name;
        fluid.kind = FieldKind::output;
        fluid.description = "1 in the fluid, 0 in bodies";
        result.fields.push_back(std::move(fluid));
    }
    return result;
}

void FlowSolver::prepare_ranks() {
    if (!flow_.bodies.empty())
        bodies_.emplace(comm(), decomposition(), rank(), flow_, grid_, field(velocity_name));
    projection_.emplace(comm(), decomposition(), rank(), flow_, grid_,
                        bodies_ ? &bodies_->immersed() : nullptr, counted_traffic(), sections());
    if (flow_.scheme == Scheme::van_leer && !flow_.scalars.empty()) {
        std::vector<domain::Conditions> conditions;
        for (const domain::FieldDeclaration& declared : declaration().fields)
            if (declared.kind == FieldKind::evolved && declared.spec.name != velocity_name)
                conditions.push_back(declared.boundaries);
        bounded_.emplace(comm(), decomposition(), rank(), flow_, grid_,
                         bodies_ ? &*bodies_ : nullptr, conditions, counted_traffic());
    }
}

void FlowSolver::initial(const SolverBlock&) {}

void FlowSolver::set_normal_velocities() {
    domain::Field<double>& velocity = field(velocity_name);
    for (std::size_t b = 0; b < blocks(); ++b)
        for (const auto& [face, condition] : conditioned_faces(flow_)) {
            if (condition->kind == Kind::outflow)
                continue; // the projection adds what is missing
            const double value =
                condition->kind == Kind::inflow ? condition->velocity[face.axis] : 0;
            for_indices(
                grid_.sides_at(face, block(b).cells()),
                [&, &face = face](const Index<3>& at) { velocity.view(b, face.axis)(at) = value; });
        }
}

// Each block has the values on all sides of its cells. A cell field takes them across.
void FlowSolver::unify_shared_faces() {
    const domain::FieldSpec spec{.name = "lower faces", .ghosts = 1};
    domain::Field<double> lower(decomposition(), rank(), spec);
    parallel::Traffic uncounted;
    domain::HaloExchange<double> halo(comm(), decomposition(), {spec}, domain::Reach::faces,
                                      uncounted);
    domain::Field<double>& velocity = field(velocity_name);
    for (std::size_t a = 0; a < velocity.arrays(); ++a) {
        for (std::size_t b = 0; b < blocks(); ++b)
            for_indices(lower.owned(b),
                        [&](const Index<3>& at) { lower.view(b)(at) = velocity.view(b, a)(at); });
        halo.exchange(lower);
        for (std::size_t b = 0; b < blocks(); ++b) {
            Box<3> faces = lower.owned(b); // those above the block's last cells
            faces.lower[a] = faces.upper[a]++;
            if (grid_[a].is_boundary(faces.lower[a]))
                continue;
            for_indices(faces,
                        [&](const Index<3>& at) { velocity.view(b, a)(at) = lower.view(b)(at); });
        }
    }
}

FlowBlock FlowSolver::block_of(const SolverBlock& block) const {
    FlowBlock result;
    for (std::size_t a = 0; a < static_cast<std::size_t>(flow_.dimension); ++a)
        result.velocity[a] = block.field(velocity_name, a);
    for (const Scalar& scalar : flow_.scalars)
        result.scalars.emplace_back(block.field(scalar.name));
    return result;
}

void FlowSolver::set_boundary_derivatives(const SolverBlock& block, std::size_t a) const {
    const View<double> derivative = block.derivative(velocity_name, a);
    const View<const double> u = block.field(velocity_name, a);
    const double speed = projection_->outflow_velocity();
    for (const auto& [face, condition] : conditioned_faces(flow_)) {
        if (face.axis != a)
            continue;
        const bool outflow = condition->kind == Kind::outflow;
        const std::int64_t inside = face.is_upper() ? -1 : 1;
        const double width = grid_.width_at(face);
        for_indices(grid_.sides_at(face, block.cells()), [&](const Index<3>& at) {
            derivative(at) = outflow ? -speed * (u(at) - u(moved(at, a, inside))) / width : 0;
        });
    }
}

// The framework fills the ghosts beyond one face; those beyond a boundary and beside a neighbour's
// cells, or beyond two boundaries, remain.
void FlowSolver::fill_edges(const View<double>& eddies, const Box<3>& cells) const {
    for (const auto& [face, condition] : conditioned_faces(flow_)) {
        const std::size_t a = face.axis;
        Box<3> ghosts = cells.grown(decomposition().mesh().layers(1));
        const std::int64_t inside = face.is_upper() ? grid_[a].cells() - 1 : 0;
        if (cells.lower[a] > inside || cells.upper[a] <= inside)
            continue;
        ghosts.lower[a] = face.is_upper() ? inside + 1 : -1;
        ghosts.upper[a] = ghosts.lower[a] + 1;
        const double sign = condition->kind == Kind::wall ? -1 : 1;
        for_indices(ghosts, [&](const Index<3>& at) {
            Index<3> image = at;
            image[a] = inside;
            eddies(at) = sign * eddies(image);
        });
    }
}

std::vector<FlowBlock> FlowSolver::flow_blocks() {
    std::vector<FlowBlock> result;
    for (std::size_t b = 0; b < blocks(); ++b)
        result.push_back(block_of(block(b)));
    return result;
}

double FlowSolver::time_scale() const { return std::max(BlockSolver::stable_dt(), step_length()); }

// `domain::BlockSolver::advance` calls `before_rhs`, `rhs` and `project` in each stage. With the
// velocity u, scalars s and the pressure p it computes
//   u* = u + dt (-div(u u) + div((nu + nu_e) grad u) + force + buoyancy), with corrections at
//   bodies s = s + dt (-div(u s) + div((kappa + kappa_e) grad s) + source); `van_leer`: see
//       `BoundedTransport`
//   div grad p = div u* / dt,  u = u* - dt grad p.
void FlowSolver::before_rhs(double time) {
    projection_->begin_stage(field(velocity_name), step_length(), time_scale());
    if (has_model(flow_))
        for (std::size_t b = 0; b < blocks(); ++b)
            fill_edges(block(b).field(eddy_name), block(b).cells());
    if (flow_.scalars.empty())
        return;
    const parallel::Section section(sections(), "scalars");
    if (bodies_)
        bodies_->prepare_scalars(flow_blocks());
    if (!bounded_)
        return;
    std::vector<View<const double>> eddies;
    for (std::size_t b = 0; has_model(flow_) && b < blocks(); ++b)
        eddies.emplace_back(block(b).field(eddy_name));
    bounded_->add_stage(flow_blocks(), eddies, stage(), time, step_length());
}

void FlowSolver::rhs(const SolverBlock& block, double time) {
    const FlowBlock flow_block = block_of(block);
    {
        const parallel::Section section(sections(), "momentum");
        std::vector<View<double>> derivatives;
        std::vector<Box<3>> faces;
        for (std::size_t a = 0; a < static_cast<std::size_t>(flow_.dimension); ++a) {
            derivatives.push_back(block.derivative(velocity_name, a));
            faces.push_back(grid_.inner_sides(a, derivatives[a].box()));
            set_boundary_derivatives(block, a);
        }
        for_parts(faces, [&](std::size_t a, const Box<3>& part) {
            momentum_derivative(flow_, grid_, flow_block, a, part, derivatives[a]);
        });
        for (std::size_t a = 0; a < faces.size(); ++a)
            add_source(flow_, flow_.sources[a], time, a, faces[a], derivatives[a]);
        if (has_model(flow_))
            for_parts(faces, [&, eddies = View<const double>(block.field(eddy_name))](
                                 std::size_t a, const Box<3>& part) {
                add_subgrid_stress(flow_, grid_, flow_block, eddies, a, part, derivatives[a]);
            });
        for (std::size_t a = 0; bodies_ && a < faces.size(); ++a)
            bodies_->correct_momentum(flow_block, block.local(), a, time_scale(), derivatives[a]);
    }
    const parallel::Section section(sections(), "scalars");
    for (std::size_t s = 0; s < flow_.scalars.size(); ++s) {
        const View<double> derivative = block.derivative(flow_.scalars[s].name);
        for_parts(derivative.box(), [&](const Box<3>& part) {
            scalar_derivative(flow_, grid_, flow_block, s, part, derivative);
        });
        add_source(flow_, flow_.scalars[s].source, time, 3, derivative.box(), derivative);
        if (has_model(flow_))
            for_parts(derivative.box(), [&, eddies = View<const double>(block.field(eddy_name))](
                                            const Box<3>& part) {
                add_subgrid_diffusion(flow_, grid_, flow_block, eddies, s, part, derivative);
            });
        if (bodies_)
            bodies_->correct_scalar(flow_block, block.local(), s, derivative);
    }
}

void FlowSolver::derive(const SolverBlock& block, std::string_view name, double) {
    if (name == eddy_name) {
        const View<double> eddies = block.field(eddy_name);
        const FlowBlock fields = block_of(block);
        for_parts(block.cells(), [&](const Box<3>& part) {
            set_eddy_viscosity(flow_, grid_, fields, part, eddies);
        });
        if (bodies_)
            bodies_->remove_eddies(block.local(), eddies);
        return;
    }
    if (name == fluid_name) {
        const View<double> fluid = block.field(fluid_name);
        for_indices(block.cells(), [&](const Index<3>& at) {
            fluid(at) = bodies_->immersed().is_fluid(block.local(), at) ? 1 : 0;
        });
        return;
    }
    const View<double> out = block.field("velocity");
    for (std::size_t a = 0; a < static_cast<std::size_t>(flow_.dimension); ++a) {
        const View<const double> u = block.field(velocity_name, a);
        for_indices(block.cells(), [&](const Index<3>& at) {
            out(at, static_cast<int>(a)) = 0.5 * (u(at) + u(moved(at, a, 1)));
        });
    }
}

void FlowSolver::project(double, double dt) {
    if (dt == 0)
        return project_initial();
    if (bounded_ && stage().is_last())
        for (std::size_t s = 0; s < flow_.scalars.size(); ++s)
            bounded_->finish(s, field(flow_.scalars[s].name));
    project_velocity(dt);
}

void FlowSolver::project_initial() {
    set_normal_velocities();
    unify_shared_faces();
    for (std::size_t s = 0; bodies_ && s < flow_.scalars.size(); ++s)
        bodies_->fill(field(flow_.scalars[s].name), s);
    for (int n = bodies_ ? initial_projections : 1; n > 0; --n) {
        if (bodies_) {
            update_derived(false); // ghosts
            bodies_->relax(field(velocity_name));
        }
        project_velocity(1);
    }
    domain::Field<double>& pressure = field("pressure");
    for (std::size_t b = 0; b < blocks(); ++b) {
        const View<double> p = pressure.view(b);
        std::fill_n(p.data(), p.box().volume(), 0.0);
    }
}

void FlowSolver::project_velocity(double dt) {
    domain::Field<double>& velocity = field(velocity_name);
    if (bodies_)
        bodies_->begin_projection(velocity);
    projection_->apply(velocity, field("pressure"), dt);
    if (bodies_)
        bodies_->end_projection(velocity);
}

double FlowSolver::max_divergence() { return projection_->max_divergence(field(velocity_name)); }

} // namespace uzushio::thermal
