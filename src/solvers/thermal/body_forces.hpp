#pragma once

#include <array>
#include <vector>

#include "parallel/compensated_sum.hpp"
#include "solvers/thermal/cut_points.hpp"
#include "solvers/thermal/momentum.hpp"

namespace uzushio::thermal {

/// Forces of the flow on bodies: the momentum that control volumes of the velocity lose to them.
///
/// The control volume of an open face ends at the centres of the two cells beside the face. If the
/// next face behind an end is blocked, pressure and normal momentum flux at that end act on the
/// body. The other sides of the volume pass momentum to a body if a surface or a blocked face is
/// beyond them.
class BodyForces {
  public:
    /// `points`: open faces near surfaces, of blocks and axes.
    BodyForces(const ImmersedGrid& immersed, const FlowParameters& flow,
               const std::vector<Box<3>>& blocks,
               const std::vector<std::array<std::vector<CutPoint>, 3>>& points);

    /// Add the forces of a block over the density: of body n along axis a to sum 3 n + a. The
    /// ghosts of the velocity are valid.
    void add(const FlowBlock& block, const View<const double>& pressure, std::size_t number,
             std::vector<parallel::CompensatedSum>& sums) const;

  private:
    struct End { ///< of a control volume, at the centre of a fluid cell
        Index<3> cell{};
        int body = 0;
        double area = 0; ///< negative where the body is below
    };
    struct Side { ///< of the control volume of an open face
        Index<3> face{};
        std::size_t axis = 0; ///< that the side is normal to
        bool is_upper = false;
        int body = 0;
        double area = 0;
        std::array<CutSide, 2> cuts{}; ///< along `axis`
    };
    struct Part {
        std::vector<End> ends;
        std::vector<Side> sides;
    };
    [[nodiscard]] Part part_of(const ImmersedGrid& immersed, std::size_t block, std::size_t a,
                               const Box<3>& cells, const std::vector<CutPoint>& points) const;

    const FlowParameters& flow_;
    const domain::Grid& grid_;
    std::vector<std::array<Part, 3>> parts_; ///< of blocks and axes
};

} // namespace uzushio::thermal
