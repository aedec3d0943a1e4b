#pragma once

#include <mpi.h>

#include <span>
#include <vector>

#include "parallel/compensated_sum.hpp"
#include "solvers/thermal/cut_points.hpp"
#include "solvers/thermal/momentum.hpp"
#include "solvers/thermal/surface_patches.hpp"

namespace uzushio::thermal {

/// Corrections of the time derivatives of scalars, near surfaces and in bodies.
///
/// Scalars are conserved to round-off: the fluid cells beside a body of given flux gain that flux
/// times the area of the body, and those beside a conducting body gain what the body loses, each
/// patch of the surface by itself. Any difference in the sum over the sides of the cells beside a
/// patch is distributed over that patch.
class SurfaceScalars {
  public:
    SurfaceScalars(MPI_Comm comm, const ImmersedGrid& immersed, const SurfacePatches& patches,
                   const FlowParameters& flow, const std::vector<Box<3>>& blocks);

    /// Compute the corrections from fields with valid ghosts (collective).
    void prepare(const std::vector<FlowBlock>& blocks);

    /// Add the changes to the derivative of scalar `s` in a block near surfaces, and set that in
    /// bodies: of diffusion if the body is conjugate, else 0.
    void correct(const FlowBlock& block, std::size_t number, std::size_t s,
                 const View<double>& derivative) const;

    /// Set scalar `s` in bodies with a fixed value to that value; the flow does not depend on it.
    void fill_bodies(domain::Field<double>& scalar, std::size_t s) const;

    /// Gains of a cell through its sides, of diffusion less advection, per area.
    using Gains = std::array<std::array<double, 2>, 3>;
    struct Contact { ///< beyond a cut link of a solid cell
        bool is_fluid = false;
        int body = -1;         ///< around the neighbour; -1: none
        std::size_t patch = 0; ///< of the surface beside a fluid neighbour
        double distance = 0;   ///< of the middle between the surfaces of both bodies
    };
    struct Point { ///< solid cell near a surface
        CutPoint cut{};
        int body = -1;                                    ///< around it; -1: none
        std::array<std::array<Contact, 2>, 3> contacts{}; ///< for each side
    };
    struct FluidPoint { ///< fluid cell near a surface
        CutPoint cut{};
        std::array<std::array<std::size_t, 2>, 3> patches{}; ///< beyond its cut links
    };
    /// Return the cells of a block near surfaces, and their gains at the last `prepare`: of fluid
    /// cells through all sides, of conductors through those that they share with fluid cells.
    [[nodiscard]] const std::vector<FluidPoint>& fluid(std::size_t block) const {
        return parts_[block].fluid;
    }
    [[nodiscard]] const std::vector<Point>& solid(std::size_t block) const {
        return parts_[block].solid;
    }
    [[nodiscard]] const std::vector<Gains>& fluid_gains(std::size_t block, std::size_t s) const {
        return parts_[block].fluid_gains[s];
    }
    [[nodiscard]] const std::vector<Gains>& solid_gains(std::size_t block, std::size_t s) const {
        return parts_[block].solid_gains[s];
    }
    /// Return the condition of scalar `s` at the surface of a body.
    [[nodiscard]] const BodyCondition& condition(int body, std::size_t s) const {
        return flow_.bodies[static_cast<std::size_t>(body)].scalars[s];
    }
    /// Return the number of the patches of the surfaces.
    [[nodiscard]] std::size_t patches() const { return areas_.size(); }

    /// Return the mean flux of scalar `s` from each body into the fluid, at the last `prepare`.
    [[nodiscard]] const std::vector<double>& fluxes(std::size_t s) const { return fluxes_[s]; }

  private:
    struct Row { ///< cells along i that are not fluid
        Index<3> first{};
        std::int64_t size = 0;
        int body = -1; ///< around them; -1: none
    };
    struct Part {
        std::vector<FluidPoint> fluid;
        std::vector<Point> solid;
        std::vector<std::vector<double>> changes; ///< by scalar: of `fluid`, then of `solid`
        std::vector<std::vector<Gains>> fluid_gains, solid_gains; ///< by scalar
        std::vector<Row> rows;
    };
    [[nodiscard]] bool conducts(int body, std::size_t s) const {
        return body >= 0 && condition(body, s).kind == BodyCondition::Kind::conjugate;
    }
    /// Values of a scalar around a fluid cell. Beyond a surface of given flux, and of a conductor,
    /// they repeat the last value before the surface, because the slope there may be large; the
    /// diffusive flux is in `gradients`.
    struct Lines {
        std::array<std::array<double, 5>, 3> values{};    ///< along each axis, as `line_of`
        std::array<std::array<double, 2>, 3> gradients{}; ///< at such sides, from the cell outwards
    };
    [[nodiscard]] Lines lines_of(const View<const double>& scalar, const CutPoint& point,
                                 std::size_t s, int reach) const;
    /// Set the corrections of a block's fluid cells, and add the gains through surfaces to the sums
    /// of the patches.
    void set_changes(const FlowBlock& block, std::size_t number, std::size_t s,
                     std::span<parallel::CompensatedSum> into_fluid);
    /// Return what is beyond the cut links of a solid cell.
    [[nodiscard]] std::array<std::array<Contact, 2>, 3>
    contacts_of(const ImmersedGrid& immersed, const SurfacePatches& patches, std::size_t block,
                const geometry::Lattice& cells, const CutPoint& point) const;
    /// Return the gradient from a cell of a conductor towards a solid neighbour of another body: 0
    /// if that body has a given flux, which is one into the fluid.
    [[nodiscard]] double into_solid(const double* here, std::ptrdiff_t stride, double length,
                                    const CutSide& cut, const Contact& contact,
                                    const BodyCondition& own, std::size_t s) const;
    /// Set the corrections of the cells of conductors, and add the gains through the sides that
    /// they share with fluid cells to the sums of the patches.
    void set_changes_of_solid(const FlowBlock& block, std::size_t number, std::size_t s,
                              std::span<parallel::CompensatedSum> into);
    void set_bodies(const Part& part, const View<const double>& scalar, std::size_t s,
                    const View<double>& derivative) const;

    /// Return whether a side of a cell is a boundary of the box at which the scalar's flux is
    /// given.
    [[nodiscard]] bool has_given_flux(std::size_t s, std::size_t axis, std::int64_t cell,
                                      bool upper) const;

    MPI_Comm comm_;
    const FlowParameters& flow_;
    const domain::Grid& grid_;
    std::vector<Part> parts_;                 ///< of the blocks
    std::vector<int> bodies_;                 ///< of the patches
    std::vector<double> areas_;               ///< of the patches
    std::vector<std::vector<double>> fluxes_; ///< by scalar, of the bodies
};

} // namespace uzushio::thermal
