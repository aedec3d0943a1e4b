#pragma once

#include <mpi.h>

#include <array>
#include <memory>
#include <vector>

#include "domain/field.hpp"
#include "domain/grid.hpp"
#include "geometry/cut_links.hpp"
#include "solvers/thermal/parameters.hpp"

namespace uzushio::thermal {

/// Cells of a staggered grid that are fluid, and the links that the surfaces of bodies cut.
///
/// A face is open if the cells beside it are fluid and the link of their centres is not cut, or if
/// it lies at a boundary of the box beside a fluid cell; else it is blocked.
class ImmersedGrid {
  public:
    /// `grid`, with two layers of ghosts or more, must outlive this. Throws `std::invalid_argument`
    /// on all ranks if no cell is fluid, if a body cuts no link, or if bodies separate inflow and
    /// outflow (collective).
    ImmersedGrid(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
                 const FlowParameters& flow, const domain::Grid& grid);

    /// Return the grid without bodies.
    [[nodiscard]] const domain::Grid& grid() const { return grid_; }

    /// Return the points of component `a` of the velocity in a block, with ghosts except those
    /// beyond boundaries; `a` = 3: the cell centres.
    [[nodiscard]] geometry::Lattice lattice(std::size_t block, std::size_t a) const;
    /// Return the links along `axis` between the points of a lattice that are cut.
    [[nodiscard]] geometry::CutLinks links(const geometry::Lattice& lattice,
                                           std::size_t axis) const;
    /// Return the links between cell centres along `axis` that are cut.
    [[nodiscard]] const geometry::CutLinks& cell_links(std::size_t block, std::size_t axis) const {
        return cell_links_[block][axis];
    }
    /// Return the number of the body of a `CutLink`.
    [[nodiscard]] int body(int of_link) const { return body_[static_cast<std::size_t>(of_link)]; }

    /// Return the number of the body whose closed surface is around a point of a lattice; -1: none.
    [[nodiscard]] int body_at(const geometry::Lattice& lattice, const Index<3>& at) const;

    /// Return whether a cell is fluid; of a block or its ghosts.
    [[nodiscard]] bool is_fluid(std::size_t block, const Index<3>& cell) const {
        return numbers_.view(block)(cell) >= 0;
    }
    /// Return the number of the regions of fluid that no path joins.
    [[nodiscard]] int regions() const { return regions_; }
    /// Return the number of a fluid cell's region; of a block or its ghosts.
    [[nodiscard]] int region(std::size_t block, const Index<3>& cell) const {
        return static_cast<int>(numbers_.view(block)(cell));
    }
    /// Return whether a face is open; of a block's cells or of the first ghosts.
    [[nodiscard]] bool is_open(std::size_t block, std::size_t axis, const Index<3>& face) const;
    /// Return 1 at open faces of blocks, 0 at others.
    [[nodiscard]] const std::shared_ptr<const domain::Field<double>>& open() const { return open_; }

  private:
    /// Throws `std::invalid_argument` on all ranks if a body cuts no link between cells of blocks.
    void check_bodies(MPI_Comm comm, const FlowParameters& flow) const;
    /// Throws `std::invalid_argument` on all ranks if what flows into a region cannot flow out.
    void check_through_flow(MPI_Comm comm, const FlowParameters& flow) const;

    std::size_t dimension_;
    const domain::Grid& grid_;
    std::array<std::vector<double>, 3> vertices_;                    ///< with those of ghost cells
    std::vector<std::shared_ptr<const geometry::Surface>> surfaces_; ///< with periodic images
    std::vector<int> body_;                                          ///< of the surfaces
    domain::Field<double> numbers_;                                  ///< of regions; solid: below 0
    std::vector<std::array<geometry::CutLinks, 3>> cell_links_;      ///< of the blocks
    int regions_ = 0;
    std::shared_ptr<const domain::Field<double>> open_;
};

} // namespace uzushio::thermal
