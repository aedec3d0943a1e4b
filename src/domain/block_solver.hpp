#pragma once

#include <mpi.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/geometry.hpp"
#include "domain/solver_declaration.hpp"
#include "domain/solver_estimate.hpp"
#include "domain/time_integrator.hpp"
#include "parallel/section_monitor.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::domain {

class BlockSolver;

/// Block of this rank with its fields by name: the argument of a solver's functions.
class SolverBlock {
  public:
    SolverBlock(BlockSolver& solver, std::size_t local) : solver_(&solver), local_(local) {}

    /// Return the index among this rank's blocks, as in `Field`.
    [[nodiscard]] std::size_t local() const { return local_; }
    [[nodiscard]] const Block& block() const;
    [[nodiscard]] const Box<3>& cells() const { return block().cells; }
    [[nodiscard]] const Zone& zone() const;
    /// Return the values of a field with its ghosts; `array` is the axis of a face-centred field.
    /// Throws `std::invalid_argument` for an unknown name.
    [[nodiscard]] View<double> field(std::string_view name, std::size_t array = 0) const;
    /// Return the time derivative of an evolved field, without ghosts; only in `rhs`.
    [[nodiscard]] View<double> derivative(std::string_view name, std::size_t array = 0) const;
    /// Return the positions of the cell centres, with the fields' maximum number of ghost layers.
    /// Ghosts beyond a boundary are the mirror images of cells in the centre of the cell side;
    /// those beyond two boundaries are zero.
    [[nodiscard]] View<const double> centres() const;
    /// Return the position of the centre of a cell of the zone, computed from its vertices; beyond
    /// the zone it is extrapolated.
    [[nodiscard]] Vector centre(const Index<3>& cell) const;
    /// Return area vectors and volumes, as `Geometry`, with the declared ghost layers.
    [[nodiscard]] View<const double> areas(std::size_t axis) const;
    [[nodiscard]] View<const double> volumes() const;

  private:
    BlockSolver* solver_;
    std::size_t local_;
};

/// Boundary patch of a block of this rank: the argument of `fill` and `correct`.
struct SolverPatch {
    SolverBlock block;
    const std::string& condition;
    const BoundaryRegion& region;

    [[nodiscard]] const Face& face() const { return region.patch.face; }
    /// Return the cells of the block inside the patch: one layer. Empty if only ghosts of the block
    /// are beside it.
    [[nodiscard]] Box<3> cells() const {
        return intersect(region.patch.layer(Box<3>::of(region.zone_cells)), block.cells());
    }
};

/// Explicit solver on a multiblock mesh. A subclass declares mesh and fields and computes on one
/// block at a time; this class decomposes the mesh, allocates, exchanges ghosts, applies boundary
/// conditions and integrates in time.
///
/// `advance` shows the order of a step. Evolved fields are exchanged together, and their boundary
/// conditions applied; each derived field is computed on all blocks, and exchanged before the next.
class BlockSolver {
  public:
    BlockSolver();
    BlockSolver(const BlockSolver&) = delete;
    BlockSolver& operator=(const BlockSolver&) = delete;
    virtual ~BlockSolver();

    /// Return the subclass's declaration. Throws `MeshError` or `std::invalid_argument` if it is
    /// invalid.
    [[nodiscard]] const SolverDeclaration& declaration() const;

    /// Return the resources that a run on `ranks` ranks needs; allocates no field. Throws
    /// `MeshError` if there are more ranks than cells.
    [[nodiscard]] SolverEstimate estimate(int ranks) const;

    /// Integrate in time by another scheme than the declared one; before `set_up`.
    void use_scheme(TimeScheme scheme);

    /// Decompose, allocate and prepare (collective; once); `begin`, `start` or `resume` follows.
    /// `sections` receives the times of a step's parts; it must outlive the solver. Null: the
    /// solver's own monitor.
    void set_up(MPI_Comm comm, parallel::SectionMonitor* sections = nullptr);

    /// Begin at time 0 with the initial fields (collective).
    void begin();

    /// Advance by `fraction` times the stable step, at most by `max_dt`, or as `next_step` if the
    /// end of the run is `left` away; return the length of the step (collective).
    double step(double max_dt, double fraction = 1,
                double left = std::numeric_limits<double>::infinity());

    /// Begin at `time` with evolved fields that the caller has set: `project` them (collective).
    void start(double time);
    /// Continue at `time` with evolved and projected fields of a checkpoint (collective).
    void resume(double time);

    /// Exchange the evolved fields and compute those derived from them, also the outputs if asked
    /// (collective).
    void update_derived(bool output = true);

    [[nodiscard]] double time() const;
    /// Return the maximum stable step of the current fields on all ranks.
    [[nodiscard]] double stable_dt() const;
    /// Return the length of the present step, or of the last one; 0 before the first.
    [[nodiscard]] double step_length() const;
    /// Return whether all evolved values of all ranks are finite.
    [[nodiscard]] bool finite() const;
    [[nodiscard]] const Decomposition& decomposition() const;
    [[nodiscard]] int rank() const;
    /// Return the number of blocks of this rank.
    [[nodiscard]] std::size_t blocks() const;
    [[nodiscard]] SolverBlock block(std::size_t local) { return {*this, local}; }
    /// Return a declared field. Throws `std::invalid_argument` for an unknown name.
    [[nodiscard]] Field<double>& field(std::string_view name);
    [[nodiscard]] const parallel::Traffic& traffic() const;
    /// Return the communicator of the solver's ranks.
    [[nodiscard]] MPI_Comm comm() const;
    /// Return the monitor of a step's sections. A subclass states the work of `rhs` and `derive`
    /// with `add_work`, and may begin sections in them.
    [[nodiscard]] parallel::SectionMonitor& sections() { return *sections_; }

  protected:
    /// Return the declaration; called once.
    [[nodiscard]] virtual SolverDeclaration declare() const = 0;
    /// Compute data that need all blocks of all ranks (collective); called before `prepare`.
    virtual void prepare_ranks() {}
    /// Compute other data of a block, such as metrics; called before `initial`.
    virtual void prepare(const SolverBlock&) {}
    /// Set the owned values of the evolved fields.
    virtual void initial(const SolverBlock& block) = 0;
    /// Change the evolved fields so that they satisfy constraints, such as a divergence of zero:
    /// after each stage of the integrator, which has advanced them to `time` (collective). `dt` is
    /// the length of the stage; 0: initial fields. Ghosts are not valid.
    virtual void project(double /*time*/, double /*dt*/) {}
    /// Set the owned values of a derived field or of an output. Ghosts of the evolved fields, and
    /// of derived fields declared before, are valid.
    virtual void derive(const SolverBlock& block, std::string_view field, double time);
    /// Set the ghosts of all evolved fields beyond a patch whose condition is one of
    /// `patch_conditions`. Other ghosts are valid, those beyond patches of lower axes included.
    virtual void fill(const SolverPatch& patch, double time);
    /// Compute for `rhs` what needs no ghosts, while they are exchanged. Owned values of the
    /// evolved fields may be read, nothing of them written.
    virtual void interior(const SolverBlock& /*block*/, double /*time*/) {}
    /// Prepare the calls of `rhs` of a stage (collective). All ghosts are valid.
    virtual void before_rhs(double /*time*/) {}
    /// Set the derivatives of the evolved fields. All ghosts are valid.
    virtual void rhs(const SolverBlock& block, double time) = 0;
    /// Change the derivatives of all blocks, after `rhs` (collective).
    virtual void after_rhs(double /*time*/) {}
    /// Change the derivatives of the cells inside a patch, after `after_rhs`: conditions on rates.
    virtual void correct(const SolverPatch& /*patch*/, double /*time*/) {}
    /// Return the largest stable time step of a block. Ghosts are not valid unless the declaration
    /// says that it reads derived fields.
    [[nodiscard]] virtual double stable_dt(const SolverBlock& block) = 0;

    /// Return the stage of the present step; only in `before_rhs`, `rhs` and `project`.
    [[nodiscard]] const StageInfo& stage() const;

    /// Add the allocations and exchanges of the subclass to an estimate.
    virtual void add_own(const Decomposition& /*decomposition*/,
                         SolverEstimate& /*estimate*/) const {}

    /// Return areas and volumes of this rank's blocks, if the declaration says that they are used.
    [[nodiscard]] const Geometry& geometry() const;

    /// Return whether ghosts of the evolved fields come from other ranks.
    [[nodiscard]] bool receives_ghosts() const;

    /// Make an output, declared with `is_shared`, the components of a field of the subclass from
    /// `first` on; that field must outlive the solver's use. Called by `prepare_ranks`.
    void share(std::string_view output, Field<double>& whole, int first);

    /// Return the counter of the messages that the subclass sends.
    [[nodiscard]] parallel::Traffic& counted_traffic();

  private:
    friend class SolverBlock;
    struct Run;
    [[nodiscard]] Run& run() const;
    void advance(double dt);
    enum class Purpose { stage, assessment, output };
    void update(double time, Purpose purpose);
    void evaluate(double time);
    void assess();

    mutable std::optional<SolverDeclaration> declaration_;
    parallel::SectionMonitor own_sections_;
    parallel::SectionMonitor* sections_ = &own_sections_;
    std::unique_ptr<Run> run_; ///< after `set_up`
};

} // namespace uzushio::domain
