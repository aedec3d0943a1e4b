#include "solvers/jet/jet_solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "parallel/compensated_sum.hpp"
#include "solvers/jet/boundary_states.hpp"
#include "solvers/jet/checks.hpp"
#include "solvers/jet/nscbc.hpp"
#include "solvers/jet/wall_model.hpp"

namespace uzushio::jet {
namespace {

using domain::FieldDeclaration;
using domain::FieldKind;
using domain::SolverBlock;

constexpr const char* conserved_name = "conserved";

/// Return the name of the field of a species.
std::string fraction_name(const Species& species) { return std::string("Y_").append(species.name); }

std::string index_text(const Index<3>& at) {
    std::ostringstream text;
    text << '(' << at[0] << ", " << at[1] << ", " << at[2] << ") (i, j, k)";
    return text.str();
}

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// Return the rate at which a sponge damps at a position.
double damping(const Sponge& sponge, const Vector& position) {
    Vector distance{};
    for (std::size_t c = 0; c < 3; ++c)
        distance[c] = position[c] - sponge.origin[c];
    double along = dot(distance, sponge.axis);
    if (sponge.radial)
        along = std::sqrt(std::max(dot(distance, distance) - along * along, 0.));
    const double share = std::clamp((along - sponge.begin) / (sponge.end - sponge.begin), 0., 1.);
    return sponge.strength * share * share;
}

} // namespace

JetSolver::JetSolver(JetParameters flow)
    : flow_(std::move(flow)), convection_(flow_), diffusion_(flow_),
      ghosts_(Convection::ghosts(flow_)) {
    check(flow_, ghosts_);
    for (const auto& [name, condition] : flow_.conditions)
        has_wall_models_ = has_wall_models_ || has_wall_model(condition.kind);
}

domain::SolverDeclaration JetSolver::declare() const {
    const Gas& gas = flow_.gas;
    domain::SolverDeclaration declaration;
    declaration.mesh = flow_.mesh;
    declaration.scheme = domain::TimeScheme::ssp_rk3;
    declaration.reach = domain::Reach::edges;
    declaration.uses_geometry = true;
    declaration.stable_dt_reads_derived = flow_.subgrid != Subgrid::none; // ghosts
    for (const auto& [name, condition] : flow_.conditions)
        declaration.patch_conditions.push_back(name);
    const auto field = [&](const std::string& name, int components, FieldKind kind,
                           const std::string& description) {
        const int ghosts = kind == FieldKind::evolved ? ghosts_ : 0;
        FieldDeclaration& added = declaration.fields.emplace_back();
        added.spec = {name, components, ghosts};
        added.kind = kind;
        added.description = description;
    };
    field(conserved_name, Conserved(gas.size()).count, FieldKind::evolved,
          "partial densities, momentum, total energy per volume");
    field("density", 1, FieldKind::output, "density");
    field("velocity", 3, FieldKind::output, "velocity");
    field("pressure", 1, FieldKind::output, "pressure");
    field("temperature", 1, FieldKind::output, "temperature");
    field("mach", 1, FieldKind::output, "speed over the speed of sound");
    if (gas.size() > 1)
        for (const Species& species : gas.species)
            field(fraction_name(species), 1, FieldKind::output, "mass fraction of " + species.name);
    return declaration;
}

void JetSolver::prepare_ranks() {
    const domain::Decomposition& all = decomposition();
    primitive_.emplace(all, rank(), domain::FieldSpec{"primitive", primitives, ghosts_});
    sensor_.emplace(all, rank(), domain::FieldSpec{"sensor", 1, 1}, flow_.scheme == Scheme::hybrid);
    transport_.emplace(all, rank(), domain::FieldSpec{"transport", 2, 1},
                       flow_.gas.transport != nullptr);
    form_.emplace(comm(), all, rank(), Conserved(flow_.gas.size()).count, geometry(),
                  counted_traffic());
    std::vector<SolverBlock> all_blocks;
    for (std::size_t b = 0; b < blocks(); ++b)
        all_blocks.push_back(block(b));
    check_boundaries(flow_, all, rank(), geometry(), all_blocks);
}

void JetSolver::initial(const SolverBlock&) {
    throw std::logic_error("a jet begins with states: set_states, then start");
}

FlowBlock JetSolver::flow_block(const SolverBlock& block) const {
    FlowBlock flow{.conserved = block.field(conserved_name),
                   .primitive = primitive_->view(block.local()),
                   .sensor = {},
                   .areas = {},
                   .volumes = block.volumes()};
    if (flow_.scheme == Scheme::hybrid)
        flow.sensor = std::as_const(*sensor_).view(block.local());
    if (flow_.gas.transport)
        flow.transport = std::as_const(*transport_).view(block.local());
    for (int a = 0; a < flow_.mesh->dimension(); ++a)
        flow.areas[a] = block.areas(static_cast<std::size_t>(a));
    return flow;
}

void JetSolver::set_states(std::size_t local, std::span<const double* const> values) {
    const SolverBlock target = block(local);
    const View<double> conserved = target.field(conserved_name);
    const auto species = flow_.gas.species.size();
    State state;
    state.mass_fractions.resize(species);
    std::vector<double> cell(static_cast<std::size_t>(conserved.components()));
    std::size_t n = 0;
    domain::for_indices(target.cells(), [&](const Index<3>& at) {
        for (std::size_t s = 0; s < species; ++s)
            state.mass_fractions[s] = values[s][n];
        for (std::size_t c = 0; c < 3; ++c)
            state.velocity[c] = values[species + c][n];
        state.pressure = values[species + 3][n];
        state.temperature = values[species + 4][n];
        ++n;
        if (!is_possible(state))
            check(state, flow_.gas,
                  std::string("zone '")
                      .append(target.zone().name)
                      .append("', cell ")
                      .append(index_text(at)));
        conserve(flow_.gas, state, cell);
        for (std::size_t c = 0; c < cell.size(); ++c)
            conserved(at, static_cast<int>(c)) = cell[c];
    });
}

void JetSolver::fill(const domain::SolverPatch& patch, double) {
    fill_ghosts(flow_.gas, flow_.conditions.at(patch.condition), patch,
                patch.block.field(conserved_name), ghosts_);
}

void JetSolver::before_rhs(double) {
    for (std::size_t b = 0; b < blocks(); ++b) {
        const SolverBlock target = block(b);
        const View<double> view = primitive_->view(b);
        set_primitives(flow_.gas, target.field(conserved_name), view.box(), view);
        if (flow_.gas.transport)
            set_transport(flow_.gas, flow_block(target), transport_->view(b).box(),
                          transport_->view(b));
        if (flow_.scheme == Scheme::hybrid) {
            const View<double> sensor = sensor_->view(b);
            set_sensor(flow_, flow_block(target), sensor.box(), sensor);
        }
    }
}

// The equations: rates of change are minus the divergence of convective and diffusive fluxes, plus
// sources.
void JetSolver::rhs(const SolverBlock& block, double) {
    const FlowBlock flow = flow_block(block);
    const View<double> derivative = block.derivative(conserved_name);
    const bool diffuses = Diffusion::is_needed(flow_);
    form_->divergence(
        block.local(), derivative,
        [&](std::size_t axis, const Index<3>& first, std::int64_t size, double* const* fluxes) {
            const SideRow row{axis, first, size};
            convection_.set(flow, row, fluxes);
            close_walls(block, flow, row, fluxes);
            if (diffuses)
                diffusion_.add(flow, row, fluxes);
            if (has_wall_models_)
                visit_sides(block, row, fluxes,
                            [&](const PatchCondition& condition, const domain::Face& face,
                                const SideRow& part, double* const* at_wall) {
                                if (has_wall_model(condition.kind))
                                    add_wall_model(flow_, condition, face, flow, block.centres(),
                                                   part, at_wall);
                            });
        });
    add_sources(block, derivative);
}

void JetSolver::close_walls(const SolverBlock& block, const FlowBlock& flow, const SideRow& row,
                            double* const* fluxes) {
    if (flow_.scheme == Scheme::keep)
        return;
    visit_sides(block, row, fluxes,
                [&](const PatchCondition& condition, const domain::Face& face, const SideRow& part,
                    double* const* closed) {
                    const PatchCondition::Kind kind = condition.kind;
                    const bool is_asymmetric = kind == PatchCondition::Kind::isothermal_wall ||
                                               block.zone().cells[face.axis] < ghosts_;
                    const bool is_wall =
                        !has_state(kind) && kind != PatchCondition::Kind::supersonic_outflow;
                    if (is_characteristic(kind) || (is_wall && is_asymmetric))
                        convection_.set_keep(flow, part, closed);
                });
}

void JetSolver::visit_sides(const SolverBlock& block, const SideRow& row, double* const* fluxes,
                            const SideVisit& visit) const {
    const Box<3> all{row.first, {row.first[0] + row.size, row.first[1] + 1, row.first[2] + 1}};
    for (const domain::BoundaryPatch& boundary : block.zone().boundaries) {
        const domain::Face& face = boundary.patch.face;
        if (face.axis != row.axis)
            continue;
        Box<3> sides = boundary.patch.layer(Box<3>::of(block.zone().cells));
        if (face.is_upper())
            sides.lower[face.axis] = sides.upper[face.axis];
        sides.upper[face.axis] = sides.lower[face.axis] + 1;
        const Box<3> part = intersect(all, sides);
        if (part.empty())
            continue;
        std::vector<double*> inside;
        for (int c = 0; c < Conserved(flow_.gas.size()).count; ++c)
            inside.push_back(fluxes[c] + (part.lower[0] - row.first[0]));
        visit(flow_.conditions.at(boundary.condition), face, {row.axis, part.lower, part.extent(0)},
              inside.data());
    }
}

void JetSolver::after_rhs(double) {
    std::vector<View<double>> derivatives;
    for (std::size_t b = 0; b < blocks(); ++b)
        derivatives.push_back(block(b).derivative(conserved_name));
    form_->equalize(derivatives);
    form_->add_outflows(stage().weight, stage().is_first());
}

void JetSolver::correct(const domain::SolverPatch& patch, double) {
    const PatchCondition& condition = flow_.conditions.at(patch.condition);
    if (!is_characteristic(condition.kind))
        return;
    set_characteristic_rates(
        flow_.gas, condition, patch, flow_block(patch.block),
        static_cast<std::size_t>(flow_.mesh->dimension()), flow_.scheme == Scheme::upwind,
        patch.block.derivative(conserved_name), [&](int component, double in) {
            form_->add_outflow(patch.condition, component, -stage().weight * in);
        });
}

void JetSolver::add_sources(const SolverBlock& block, const View<double>& derivative) const {
    const Conserved at(flow_.gas.size());
    const View<const double> conserved = block.field(conserved_name);
    const View<const double> primitive = primitive_->view(block.local());
    const Vector& force = flow_.acceleration;
    if (force != Vector{})
        domain::for_indices(block.cells(), [&](const Index<3>& cell) {
            const double rho = primitive(cell, Primitive::density);
            double work = 0;
            for (int c = 0; c < 3; ++c) {
                const double f = rho * force[static_cast<std::size_t>(c)];
                derivative(cell, at.momentum + c) += f;
                work += f * primitive(cell, c);
            }
            derivative(cell, at.energy) += work;
        });
    if (flow_.sponges.empty())
        return;
    const View<const double> centres = block.centres();
    std::vector<double> target(static_cast<std::size_t>(at.count));
    for (const Sponge& sponge : flow_.sponges) {
        conserve(flow_.gas, sponge.state, target);
        domain::for_indices(block.cells(), [&](const Index<3>& cell) {
            const double rate =
                damping(sponge, {centres(cell, 0), centres(cell, 1), centres(cell, 2)});
            if (rate == 0)
                return;
            for (int c = 0; c < at.count; ++c)
                derivative(cell, c) -=
                    rate * (conserved(cell, c) - target[static_cast<std::size_t>(c)]);
        });
    }
}

void JetSolver::derive(const SolverBlock& block, std::string_view field, double) {
    const View<double> out = block.field(field);
    const View<const double> conserved = block.field(conserved_name);
    const View<double> primitive = primitive_->view(block.local());
    if (field == "density") // the first output
        set_primitives(flow_.gas, conserved, block.cells(), primitive);
    const auto copy = [&](int first) {
        domain::for_indices(block.cells(), [&](const Index<3>& at) {
            for (int c = 0; c < out.components(); ++c)
                out(at, c) = primitive(at, first + c);
        });
    };
    if (field == "density")
        return copy(Primitive::density);
    if (field == "velocity")
        return copy(Primitive::u);
    if (field == "pressure")
        return copy(Primitive::pressure);
    if (field == "temperature")
        return copy(Primitive::temperature);
    if (field == "mach") {
        domain::for_indices(block.cells(), [&](const Index<3>& at) {
            double square = 0;
            for (int c = 0; c < 3; ++c)
                square += primitive(at, c) * primitive(at, c);
            out(at) = std::sqrt(square) / sound_speed(primitive, at);
        });
        return;
    }
    int species = 0;
    while (fraction_name(flow_.gas.species[static_cast<std::size_t>(species)]) != field)
        ++species;
    domain::for_indices(block.cells(), [&](const Index<3>& at) {
        out(at) = conserved(at, species) / primitive(at, Primitive::density);
    });
}

// The step within which information passes one cell, along all axes together.
double JetSolver::stable_dt(const SolverBlock& block) { return limit(block).step; }

JetSolver::Limit JetSolver::limit(const SolverBlock& block) {
    const View<const double> conserved = block.field(conserved_name);
    const View<double> primitive = primitive_->view(block.local());
    const bool has_eddies = flow_.subgrid != Subgrid::none;
    set_primitives(flow_.gas, conserved, has_eddies ? primitive.box() : block.cells(), primitive);
    if (first_impossible(block))
        return {std::numeric_limits<double>::quiet_NaN(), block.cells().lower};
    const FlowBlock flow = flow_block(block);
    if (flow_.gas.transport)
        set_transport(flow_.gas, flow, block.cells(), transport_->view(block.local()));
    const View<const double> volumes = block.volumes();
    const View<const double> centres = block.centres();
    double fastest = 0;
    Index<3> cell = block.cells().lower;
    const auto axes = static_cast<std::size_t>(flow_.mesh->dimension());
    const bool diffuses = Diffusion::is_needed(flow_);
    domain::for_indices(block.cells(), [&](const Index<3>& at) {
        const double sound = sound_speed(primitive, at);
        double rate = 0, squares = 0, acceleration = 0;
        for (std::size_t a = 0; a < axes; ++a) {
            const View<const double> areas = block.areas(a);
            const Index<3> above = moved(at, a, 1);
            double through = 0, square = 0, force = 0;
            for (std::size_t c = 0; c < 3; ++c) {
                const int component = static_cast<int>(c);
                const double area = 0.5 * (areas(at, component) + areas(above, component));
                through += primitive(at, component) * area;
                force += flow_.acceleration[c] * area;
                square += area * area;
            }
            rate += std::abs(through) + sound * std::sqrt(square);
            squares += square;
            acceleration += std::abs(force);
        }
        rate /= volumes(at);
        // Positive root of rate^2 - (u/h) rate - f/h: a cell is passed at u + f dt.
        rate = 0.5 * (rate + std::sqrt(rate * rate + 4 * acceleration / volumes(at)));
        if (diffuses) {
            double fastest_diffusion = largest_diffusivity(flow_.gas, flow, at);
            if (has_eddies) {
                // The eddy viscosity grows with the strain: a change of it diffuses twice as fast.
                const double least_of_eddies =
                    std::min({0.5, flow_.subgrid_prandtl / 1.7, flow_.subgrid_schmidt});
                fastest_diffusion +=
                    eddy_viscosity(flow_.subgrid, flow, axes, at) / least_of_eddies;
            }
            rate += 2 * fastest_diffusion * squares / (volumes(at) * volumes(at));
        }
        for (const Sponge& sponge : flow_.sponges)
            rate += damping(sponge, {centres(at, 0), centres(at, 1), centres(at, 2)});
        if (rate > fastest) {
            fastest = rate;
            cell = at;
        }
    });
    return {1 / fastest, cell};
}

/// Return the first cell of a block with a state that cannot be.
std::optional<Index<3>> JetSolver::first_impossible(const SolverBlock& block) const {
    const View<const double> primitive = std::as_const(*primitive_).view(block.local());
    std::optional<Index<3>> first;
    domain::for_indices(block.cells(), [&](const Index<3>& at) {
        const bool possible = primitive(at, Primitive::density) > 0 &&
                              primitive(at, Primitive::pressure) > 0 &&
                              std::isfinite(primitive(at, Primitive::internal_energy));
        if (!possible && !first)
            first = at;
    });
    return first;
}

std::string JetSolver::impossible_state() const {
    for (std::size_t b = 0; b < blocks(); ++b) {
        const SolverBlock target = const_cast<JetSolver*>(this)->block(b);
        const auto at = first_impossible(target);
        if (!at)
            continue;
        return state_text(target, *at);
    }
    return {};
}

std::string JetSolver::state_text(const SolverBlock& block, const Index<3>& at) const {
    const View<const double> primitive = std::as_const(*primitive_).view(block.local());
    const View<const double> centres = block.centres();
    std::ostringstream text;
    text << "zone '" << block.zone().name << "', cell " << index_text(at) << " at ("
         << centres(at, 0) << ", " << centres(at, 1) << ", " << centres(at, 2) << "): density "
         << primitive(at, Primitive::density) << ", pressure "
         << primitive(at, Primitive::pressure);
    return text.str();
}

std::pair<double, std::string> JetSolver::limiting_cell() {
    if (flow_.subgrid != Subgrid::none)
        update_derived(false); // ghosts
    std::pair<double, std::string> result{std::numeric_limits<double>::infinity(), ""};
    for (std::size_t b = 0; b < blocks(); ++b) {
        const SolverBlock target = block(b);
        const Limit found = limit(target);
        if (found.step < result.first)
            result = {found.step, state_text(target, found.cell)};
    }
    return result;
}

std::map<std::string, std::vector<double>> JetSolver::outflows() { return form_->outflows(); }

std::vector<double> JetSolver::integrals() {
    const Conserved at(flow_.gas.size());
    const auto count = static_cast<std::size_t>(at.count);
    std::vector<parallel::CompensatedSum> sums(count + 2);
    const Species& species = flow_.gas.species.front();
    const double gamma = 1 + species.gas_constant / species.heat_capacity;
    const bool has_entropy = flow_.gas.size() == 1 && !flow_.gas.polynomials;
    for (std::size_t b = 0; b < blocks(); ++b) {
        const SolverBlock target = block(b);
        const View<const double> conserved = target.field(conserved_name);
        const View<const double> volumes = target.volumes();
        const View<double> primitive = primitive_->view(b);
        set_primitives(flow_.gas, conserved, target.cells(), primitive);
        domain::for_indices(target.cells(), [&](const Index<3>& cell) {
            const double volume = volumes(cell);
            for (std::size_t c = 0; c < count; ++c)
                sums[c].add(conserved(cell, static_cast<int>(c)) * volume);
            const double rho = primitive(cell, Primitive::density);
            double square = 0;
            for (int c = 0; c < 3; ++c)
                square += primitive(cell, c) * primitive(cell, c);
            sums[count].add(0.5 * rho * square * volume);
            const double p = primitive(cell, Primitive::pressure);
            if (has_entropy)
                sums[count + 1].add(rho * (std::log(p) - gamma * std::log(rho)) / (gamma - 1) *
                                    volume);
        });
    }
    std::vector<double> values(sums.size());
    parallel::sum_over_ranks(sums.data(), values.data(), values.size(), comm());
    return values;
}

void JetSolver::add_own(const domain::Decomposition& decomposition,
                        domain::SolverEstimate& estimate) const {
    std::int64_t largest = 0;
    for (int rank = 0; rank < decomposition.ranks(); ++rank) {
        std::int64_t values = 0;
        for (const int id : decomposition.blocks_of(rank))
            values += decomposition.block(id).cells.grown(flow_.mesh->layers(ghosts_)).volume() *
                      (primitives + (flow_.scheme == Scheme::hybrid ? 1 : 0) +
                       (flow_.gas.transport ? 2 : 0));
        largest = std::max(largest, values);
    }
    estimate.bytes += largest * static_cast<std::int64_t>(sizeof(double));
    const domain::HaloVolume fluxes =
        domain::FluxForm::volume(decomposition, Conserved(flow_.gas.size()).count);
    const std::int64_t stages = domain::stages_of(declaration().scheme);
    estimate.halo_messages += stages * fluxes.max_rank_messages;
    estimate.halo_bytes += stages * fluxes.max_rank_bytes;
    estimate.bytes += 2 * fluxes.max_rank_bytes; // buffers of messages
}

} // namespace uzushio::jet
