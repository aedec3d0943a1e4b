#include "solvers/jet/jet_solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "domain/box_set.hpp"
#include "domain/parts.hpp"
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

/// Outputs that are primitive variables, with their first component.
constexpr std::array<std::pair<const char*, int>, 4> shared_outputs{
    {{"density", Primitive::density},
     {"velocity", Primitive::u},
     {"pressure", Primitive::pressure},
     {"temperature", Primitive::temperature}}};

bool is_shared(std::string_view output) {
    return std::any_of(shared_outputs.begin(), shared_outputs.end(),
                       [&](const auto& shared) { return shared.first == output; });
}

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
    : flow_(std::move(flow)), ghosts_(Convection::ghosts(flow_)) {
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
    declaration.uses_centres = has_wall_models_;
    declaration.uses_geometry = true;
    declaration.geometry_ghosts = 1;
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
        added.is_shared = is_shared(name);
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
    damped_.resize(blocks());
    for (const auto& [name, first] : shared_outputs)
        share(name, *primitive_, first);
}

void JetSolver::prepare(const SolverBlock& block) {
    if (flow_.sponges.empty())
        return;
    domain::for_indices(block.cells(), [&](const Index<3>& cell) {
        const Vector centre = block.centre(cell);
        for (std::size_t s = 0; s < flow_.sponges.size(); ++s)
            if (const double rate = damping(flow_.sponges[s], centre); rate > 0)
                damped_[block.local()].push_back({cell, s, rate});
    });
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

void JetSolver::update_primitives(const SolverBlock& block, const Box<3>& cells) {
    const View<const double> conserved = block.field(conserved_name);
    const View<double> primitive = primitive_->view(block.local());
    domain::for_parts(
        cells, [&](const Box<3>& part) { set_primitives(flow_.gas, conserved, part, primitive); });
}

void JetSolver::update_transport(const SolverBlock& block, const Box<3>& cells) {
    const FlowBlock flow = flow_block(block);
    const View<double> transport = transport_->view(block.local());
    domain::for_parts(cells,
                      [&](const Box<3>& part) { set_transport(flow_.gas, flow, part, transport); });
}

void JetSolver::interior(const SolverBlock& block, double) {
    if (receives_ghosts())
        update_primitives(block, block.cells());
}

void JetSolver::before_rhs(double) {
    while (kernels_.size() < static_cast<std::size_t>(parallel::thread_count()))
        kernels_.push_back({Convection(flow_), Diffusion(flow_)});
    for (std::size_t b = 0; b < blocks(); ++b) {
        const SolverBlock target = block(b);
        const View<double> view = primitive_->view(b);
        domain::BoxSet<3> left{view.box()};
        if (receives_ghosts())
            domain::subtract(left, target.cells());
        for (const Box<3>& cells : left)
            update_primitives(target, cells);
        if (flow_.gas.transport)
            update_transport(target, transport_->view(b).box());
        if (flow_.scheme == Scheme::hybrid) {
            const View<double> sensor = sensor_->view(b);
            const FlowBlock flow = flow_block(target);
            domain::for_parts(sensor.box(),
                              [&](const Box<3>& part) { set_sensor(flow_, flow, part, sensor); });
        }
    }
}

// The equations: rates of change are minus the divergence of convective and diffusive fluxes, plus
// sources.
void JetSolver::rhs(const SolverBlock& block, double) {
    const FlowBlock flow = flow_block(block);
    const View<double> derivative = block.derivative(conserved_name);
    const bool diffuses = Diffusion::is_needed(flow_);
    form_->divergence(block.local(), derivative,
                      [&](std::size_t number, std::size_t axis, const Index<3>& first,
                          std::int64_t size, double* const* fluxes) {
                          Kernels& kernels = kernels_[number];
                          const SideRow row{axis, first, size};
                          kernels.convection.set(flow, row, fluxes);
                          close_walls(kernels.convection, block, flow, row, fluxes);
                          if (diffuses)
                              kernels.diffusion.add(flow, row, fluxes);
                          if (has_wall_models_)
                              visit_sides(block, row, fluxes,
                                          [&](const PatchCondition& condition,
                                              const domain::Face& face, const SideRow& part,
                                              double* const* at_wall) {
                                              if (has_wall_model(condition.kind))
                                                  add_wall_model(flow_, condition, face, flow,
                                                                 block.centres(), part, at_wall);
                                          });
                      });
    add_sources(block, derivative);
}

void JetSolver::close_walls(Convection& convection, const SolverBlock& block, const FlowBlock& flow,
                            const SideRow& row, double* const* fluxes) const {
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
                        convection.set_keep(flow, part, closed);
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
        domain::for_parts(block.cells(), [&](const Box<3>& part) {
            domain::for_indices(part, [&](const Index<3>& cell) {
                const double rho = primitive(cell, Primitive::density);
                double work = 0;
                for (int c = 0; c < 3; ++c) {
                    const double f = rho * force[static_cast<std::size_t>(c)];
                    derivative(cell, at.momentum + c) += f;
                    work += f * primitive(cell, c);
                }
                derivative(cell, at.energy) += work;
            });
        });
    std::vector<std::vector<double>> targets;
    for (const Sponge& sponge : flow_.sponges) {
        auto& target = targets.emplace_back(static_cast<std::size_t>(at.count));
        conserve(flow_.gas, sponge.state, target);
    }
    for (const DampedCell& damped : damped_[block.local()])
        for (int c = 0; c < at.count; ++c)
            derivative(damped.cell, c) -=
                damped.rate *
                (conserved(damped.cell, c) - targets[damped.sponge][static_cast<std::size_t>(c)]);
}

void JetSolver::derive(const SolverBlock& block, std::string_view field, double) {
    const View<double> out = block.field(field);
    const View<const double> conserved = block.field(conserved_name);
    const View<double> primitive = primitive_->view(block.local());
    if (field == "density") // the first output
        update_primitives(block, block.cells());
    if (is_shared(field))
        return;
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
    const View<const double> primitive = primitive_->view(block.local());
    const bool has_eddies = flow_.subgrid != Subgrid::none;
    update_primitives(block, has_eddies ? primitive.box() : block.cells());
    if (first_impossible(block))
        return {std::numeric_limits<double>::quiet_NaN(), block.cells().lower};
    const FlowBlock flow = flow_block(block);
    if (flow_.gas.transport)
        update_transport(block, block.cells());
    const View<const double> volumes = block.volumes();
    std::array<View<const double>, 3> sides;
    for (int a = 0; a < flow_.mesh->dimension(); ++a)
        sides[static_cast<std::size_t>(a)] = block.areas(static_cast<std::size_t>(a));
    const auto axes = static_cast<std::size_t>(flow_.mesh->dimension());
    const bool diffuses = Diffusion::is_needed(flow_);
    const auto rate_at = [&](const Index<3>& at) {
        const double sound = sound_speed(primitive, at);
        double rate = 0, squares = 0, acceleration = 0;
        for (std::size_t a = 0; a < axes; ++a) {
            const View<const double>& areas = sides[a];
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
        return rate;
    };
    struct Fastest {
        double rate = 0;
        Index<3> cell{};
        void add(double other, const Index<3>& at) {
            if (other > rate)
                *this = {other, at};
        }
    };
    Fastest fastest{0, block.cells().lower};
    for (const Fastest& of_part : domain::results_of_parts<Fastest>(
             std::span(&block.cells(), 1), [&](Fastest& result, std::size_t, const Box<3>& part) {
                 domain::for_indices(part,
                                     [&](const Index<3>& at) { result.add(rate_at(at), at); });
             }))
        fastest.add(of_part.rate, of_part.cell);
    const std::vector<DampedCell>& damped = damped_[block.local()];
    double damping = 0; // in a cell, by the sponges so far
    for (std::size_t n = 0; n < damped.size(); ++n) {
        const bool is_same = n > 0 && damped[n].cell == damped[n - 1].cell;
        damping = damped[n].rate + (is_same ? damping : 0);
        fastest.add(rate_at(damped[n].cell) + damping, damped[n].cell);
    }
    return {1 / fastest.rate, fastest.cell};
}

/// Return the first cell of a block with a state that cannot be.
std::optional<Index<3>> JetSolver::first_impossible(const SolverBlock& block) const {
    const View<const double> primitive = std::as_const(*primitive_).view(block.local());
    const auto find = [&](std::optional<Index<3>>& first, const Index<3>& at) {
        const bool possible = primitive(at, Primitive::density) > 0 &&
                              primitive(at, Primitive::pressure) > 0 &&
                              std::isfinite(primitive(at, Primitive::internal_energy));
        if (!possible && !first)
            first = at;
    };
    const auto found = domain::results_of_parts<std::optional<Index<3>>>(
        std::span(&block.cells(), 1),
        [&](std::optional<Index<3>>& first, std::size_t, const Box<3>& part) {
            domain::for_indices(part, [&](const Index<3>& at) { find(first, at); });
        });
    for (const auto& first : found)
        if (first)
            return first;
    return std::nullopt;
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
    const Vector centre = block.centre(at);
    std::ostringstream text;
    text << "zone '" << block.zone().name << "', cell " << index_text(at) << " at (" << centre[0]
         << ", " << centre[1] << ", " << centre[2] << "): density "
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
