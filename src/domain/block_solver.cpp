#include "domain/block_solver.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <stdexcept>
#include <utility>

#include "domain/halo_exchange.hpp"
#include "domain/next_step.hpp"
#include "domain/parts.hpp"
#include "domain/positions.hpp"
#include "parallel/communicator.hpp"

namespace uzushio::domain {
namespace {

using Exchange = HaloExchange<double>;

bool all_finite(std::span<Field<double>* const> fields) {
    std::vector<View<const double>> views;
    std::vector<Box<3>> owned;
    for (const Field<double>* field : fields)
        for (std::size_t b = 0; b < field->blocks(); ++b)
            for (std::size_t array = 0; array < field->arrays(); ++array) {
                views.push_back(field->view(b, array));
                owned.push_back(field->owned(b, array));
            }
    const auto sums = results_of_parts<double>( // of zeros, or NaN
        owned, [&](double& total, std::size_t n, const Box<3>& part) {
            double sum = 0;
            for (int c = 0; c < views[n].components(); ++c)
                for_rows(part, [&](const Index<3>& first, std::int64_t size) {
                    const double* row = &views[n](first, c);
#pragma omp simd reduction(+ : sum)
                    for (std::int64_t i = 0; i < size; ++i)
                        sum += row[i] - row[i];
                });
            total += sum;
        });
    return std::all_of(sums.begin(), sums.end(), [](double sum) { return sum == 0; });
}

} // namespace

/// State of a solver after `set_up`.
struct BlockSolver::Run {
    /// Fields that are exchanged together, with their boundary conditions.
    struct Group {
        std::vector<Field<double>*> fields;
        std::optional<Exchange> exchange; ///< none without ghosts
        std::vector<Boundaries> boundaries;

        void begin(parallel::SectionMonitor& sections) {
            const parallel::Section section(sections, "halo exchange");
            if (exchange)
                exchange->begin(fields);
        }
        void end(double time, parallel::SectionMonitor& sections) {
            if (!exchange)
                return;
            {
                const parallel::Section section(sections, "halo exchange");
                exchange->end();
            }
            const parallel::Section section(sections, "boundary conditions");
            for (std::size_t f = 0; f < fields.size(); ++f)
                boundaries[f].apply(*fields[f], time);
        }
    };

    Run(MPI_Comm given, const SolverDeclaration& declaration)
        : comm(parallel::Communicator::duplicate(given)),
          decomposition(decompose(declaration, comm.size())),
          integrator(declaration.scheme, decomposition, comm.rank(), evolved_specs(declaration)) {
        for (const FieldDeclaration& field : declaration.fields)
            fields.emplace_back(decomposition, comm.rank(), field.spec,
                                field.kind != FieldKind::output);
        for (const auto& specs : exchange_groups(declaration)) {
            Group& group = groups.emplace_back();
            if (specs.empty())
                continue;
            group.exchange.emplace(comm.get(), decomposition, specs, declaration.reach, traffic);
            for (const FieldSpec& spec : specs) {
                const std::size_t f = index(spec.name);
                group.fields.push_back(&fields[f]);
                group.boundaries.emplace_back(decomposition, comm.rank(), spec,
                                              declaration.fields[f].boundaries);
            }
        }
        for (std::size_t f = 0; f < fields.size(); ++f)
            if (is_evolved(declaration.fields[f]))
                evolved.push_back(&fields[f]);
        if (declaration.uses_centres)
            set_centres(declaration);
        if (declaration.uses_geometry)
            geometry.emplace(comm.get(), decomposition, comm.rank(),
                             geometry_ghosts(declaration, decomposition));
        for (NamedRegion& named :
             boundary_regions(decomposition, comm.rank(), max_ghosts(declaration)))
            if (is_patch_condition(declaration, named.condition))
                patches.push_back(std::move(named));
    }

    void set_centres(const SolverDeclaration& declaration) {
        centres.emplace(
            positions(decomposition, comm.rank(), Centring::cell, max_ghosts(declaration)));
        if (centres->spec().ghosts == 0)
            return;
        parallel::Traffic uncounted;
        Exchange(comm.get(), decomposition, {centres->spec()}, declaration.reach, uncounted)
            .exchange(*centres);
        reflect_positions(decomposition, comm.rank(), centres->spec().ghosts, *centres);
    }

    [[nodiscard]] std::size_t index(std::string_view name) const {
        std::string known;
        for (std::size_t f = 0; f < fields.size(); ++f) {
            if (fields[f].spec().name == name)
                return f;
            known.append(known.empty() ? "" : ", ").append(fields[f].spec().name);
        }
        throw std::invalid_argument("there is no field '" + std::string(name) +
                                    "'; there are: " + known);
    }

    parallel::Communicator comm;
    parallel::Traffic traffic;
    Decomposition decomposition;
    std::optional<Field<double>> centres;
    std::optional<Geometry> geometry;
    std::vector<NamedRegion> patches; ///< whose conditions `fill` applies
    std::deque<Field<double>> fields; ///< in the order of the declaration
    std::vector<Field<double>*> evolved;
    std::deque<Group> groups; ///< as `exchange_groups`
    TimeIntegrator<double> integrator;
    std::span<Field<double>* const> derivatives; ///< while a right-hand side is computed
    StageInfo stage;
    double time = 0, step_length = 0;
    double stable = -1; ///< stable step; negative before the fields are set
    bool finite = true;
};

BlockSolver::BlockSolver() = default;
BlockSolver::~BlockSolver() = default;

const SolverDeclaration& BlockSolver::declaration() const {
    if (!declaration_) {
        SolverDeclaration declared = declare();
        for (FieldDeclaration& field : declared.fields)
            if (is_evolved(field))
                for (const std::string& condition : declared.patch_conditions)
                    field.boundaries.emplace(condition, [](const BoundaryGhosts&, double) {});
        check(declared);
        declaration_ = std::move(declared);
    }
    return *declaration_;
}

SolverEstimate BlockSolver::estimate(int ranks) const {
    const SolverDeclaration& declared = declaration();
    const Decomposition decomposition = decompose(declared, ranks);
    SolverEstimate result = domain::estimate(declared, decomposition);
    add_own(decomposition, result);
    return result;
}

void BlockSolver::use_scheme(TimeScheme scheme) {
    if (run_)
        throw std::logic_error("the time scheme of a solver of blocks is changed after its set-up");
    static_cast<void>(declaration());
    declaration_->scheme = scheme;
}

void BlockSolver::set_up(MPI_Comm comm, parallel::SectionMonitor* sections) {
    if (run_)
        throw std::logic_error("a solver of blocks is set up twice");
    if (sections != nullptr)
        sections_ = sections;
    run_ = std::make_unique<Run>(comm, declaration());
    prepare_ranks();
    for (std::size_t b = 0; b < blocks(); ++b)
        prepare(block(b));
}

void BlockSolver::begin() {
    for (std::size_t b = 0; b < blocks(); ++b)
        initial(block(b));
    start(0);
}

double BlockSolver::step(double max_dt, double fraction, double left) {
    Run& r = run();
    if (r.stable < 0)
        throw std::logic_error(
            "a solver of blocks takes a step before its fields are set: call begin first");
    r.step_length = next_step(std::min(max_dt, fraction * r.stable), left);
    advance(r.step_length);
    assess();
    return r.step_length;
}

// A step of an explicit Runge-Kutta scheme for du/dt = f(u, t) with constraints g(u) = 0.
void BlockSolver::advance(double dt) {
    Run& r = run();
    for (const StageInfo& stage : r.integrator.stages()) {
        r.stage = stage;
        update(r.time + stage.begin * dt, Purpose::stage); // ghosts of u, derived fields
        evaluate(r.time + stage.begin * dt);               // f(u, t)
        {
            const parallel::Section section(*sections_, "integration", r.integrator.work(stage));
            r.integrator.advance(stage, dt, r.evolved); // u from f
        }
        project(r.time + stage.end * dt, stage.length * dt); // g(u) = 0
    }
    r.time += dt;
}

void BlockSolver::evaluate(double time) {
    Run& r = run();
    const parallel::Section section(*sections_, "right-hand side");
    before_rhs(time);
    r.derivatives = r.integrator.derivatives();
    for (std::size_t b = 0; b < blocks(); ++b)
        rhs(block(b), time);
    after_rhs(time);
    for (const NamedRegion& named : r.patches)
        correct({block(named.region.local), named.condition, named.region}, time);
    r.derivatives = {};
}

const StageInfo& BlockSolver::stage() const { return run().stage; }

void BlockSolver::start(double time) {
    project(time, 0);
    resume(time);
}

void BlockSolver::resume(double time) {
    run().time = time;
    assess();
}

void BlockSolver::update_derived(bool output) {
    update(run().time, output ? Purpose::output : Purpose::assessment);
}

void BlockSolver::update(double time, Purpose purpose) {
    Run& r = run();
    r.groups.front().begin(*sections_);
    if (purpose == Purpose::stage) {
        const parallel::Section section(*sections_, "right-hand side");
        for (std::size_t b = 0; b < blocks(); ++b)
            interior(block(b), time);
    }
    r.groups.front().end(time, *sections_);
    {
        const parallel::Section section(*sections_, "boundary conditions");
        for (const NamedRegion& named : r.patches)
            fill({block(named.region.local), named.condition, named.region}, time);
    }
    auto group = r.groups.begin() + 1;
    for (std::size_t f = 0; f < r.fields.size(); ++f) {
        const FieldDeclaration& field = declaration_->fields[f];
        const bool is_output = purpose == Purpose::output && field.kind == FieldKind::output;
        if (!is_derived(field) && !is_output)
            continue;
        {
            const parallel::Section section(*sections_, "derived fields");
            r.fields[f].allocate();
            for (std::size_t b = 0; b < blocks(); ++b)
                derive(block(b), r.fields[f].spec().name, time);
        }
        if (is_derived(field)) {
            group->begin(*sections_);
            (group++)->end(time, *sections_);
        }
    }
}

/// Compute the stable step and whether values are finite, on all ranks.
void BlockSolver::assess() {
    Run& r = run();
    const parallel::Section section(*sections_, "stable step");
    double stable = std::numeric_limits<double>::infinity();
    bool finite = all_finite(r.evolved);
    if (declaration_->stable_dt_reads_derived)
        update(r.time, Purpose::assessment);
    for (std::size_t b = 0; finite && b < blocks(); ++b) {
        const double dt = stable_dt(block(b));
        finite = !std::isnan(dt);
        stable = std::min(stable, dt);
    }
    std::array<double, 2> stable_and_finite{stable, finite ? 1.0 : 0.0};
    MPI_Allreduce(MPI_IN_PLACE, stable_and_finite.data(), 2, MPI_DOUBLE, MPI_MIN, r.comm.get());
    r.traffic.add(parallel::Exchange::reduction, 1,
                  static_cast<std::int64_t>(sizeof(stable_and_finite)));
    r.stable = stable_and_finite[0];
    r.finite = stable_and_finite[1] > 0;
}

void BlockSolver::derive(const SolverBlock&, std::string_view field, double) {
    throw std::logic_error("the solver does not compute the derived field '" + std::string(field) +
                           "'");
}

void BlockSolver::fill(const SolverPatch& patch, double) {
    throw std::logic_error("the solver does not apply the boundary condition '" + patch.condition +
                           "'");
}

BlockSolver::Run& BlockSolver::run() const {
    if (!run_)
        throw std::logic_error("a solver of blocks is used before it is set up");
    return *run_;
}

double BlockSolver::time() const { return run().time; }
double BlockSolver::stable_dt() const { return run().stable; }
double BlockSolver::step_length() const { return run().step_length; }
bool BlockSolver::finite() const { return run().finite; }
const Decomposition& BlockSolver::decomposition() const { return run().decomposition; }
int BlockSolver::rank() const { return run().comm.rank(); }
std::size_t BlockSolver::blocks() const {
    return run().decomposition.blocks_of(run().comm.rank()).size();
}
Field<double>& BlockSolver::field(std::string_view name) {
    Field<double>& field = run().fields[run().index(name)];
    field.allocate();
    return field;
}
const parallel::Traffic& BlockSolver::traffic() const { return run().traffic; }
parallel::Traffic& BlockSolver::counted_traffic() { return run().traffic; }
const Geometry& BlockSolver::geometry() const {
    if (!run().geometry)
        throw std::logic_error("the solver's declaration says that it does not use the geometry");
    return *run().geometry;
}
bool BlockSolver::receives_ghosts() const {
    const auto& exchange = run().groups.front().exchange;
    return exchange && exchange->messages() > 0;
}
void BlockSolver::share(std::string_view output, Field<double>& whole, int first) {
    Field<double>& field = run().fields[run().index(output)];
    field = Field<double>(field.spec().name, whole, first, field.spec().components);
}
MPI_Comm BlockSolver::comm() const { return run().comm.get(); }

const Block& SolverBlock::block() const {
    const Decomposition& decomposition = solver_->decomposition();
    return decomposition.block(decomposition.blocks_of(solver_->rank())[local_]);
}
const Zone& SolverBlock::zone() const { return solver_->decomposition().mesh().zone(block().zone); }
View<double> SolverBlock::field(std::string_view name, std::size_t array) const {
    return solver_->field(name).view(local_, array);
}
View<double> SolverBlock::derivative(std::string_view name, std::size_t array) const {
    const BlockSolver::Run& run = solver_->run();
    for (std::size_t f = 0; f < run.derivatives.size(); ++f)
        if (run.derivatives[f]->spec().name == name)
            return run.derivatives[f]->view(local_, array);
    throw std::invalid_argument("there is no derivative of '" + std::string(name) +
                                "' here: only rhs sets those of evolved fields");
}
View<const double> SolverBlock::areas(std::size_t axis) const {
    return solver_->geometry().areas(local_, axis);
}
View<const double> SolverBlock::volumes() const { return solver_->geometry().volumes(local_); }
Vector SolverBlock::centre(const Index<3>& cell) const {
    const Zone& of = zone();
    Index<3> nearest = cell;
    for (std::size_t a = 0; a < 3; ++a)
        nearest[a] = std::clamp<std::int64_t>(cell[a], 0, of.cells[a] - 1);
    const Vector edge = of.coordinates.centre(nearest);
    Vector centre = edge;
    for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t beyond = cell[a] - nearest[a];
        if (beyond == 0 || of.cells[a] == 1)
            continue;
        const Vector inner = of.coordinates.centre(moved(nearest, a, beyond > 0 ? -1 : 1));
        for (std::size_t c = 0; c < 3; ++c)
            centre[c] += static_cast<double>(std::abs(beyond)) * (edge[c] - inner[c]);
    }
    return centre;
}
View<const double> SolverBlock::centres() const {
    const std::optional<Field<double>>& centres = solver_->run().centres;
    if (!centres)
        throw std::logic_error("the solver's declaration says that it does not use the centres");
    return centres->view(local_);
}

} // namespace uzushio::domain
