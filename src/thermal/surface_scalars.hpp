#pragma once

#include <vector>

#include "thermal/cut_points.hpp"
#include "thermal/momentum.hpp"

namespace uzushio::thermal {

/// Scalars near surfaces and in bodies: the derivatives of a step there.
class SurfaceScalars {
  public:
    SurfaceScalars(const ImmersedGrid& grid, const FlowParameters& flow,
                   const std::array<AxisMetrics, 3>& metrics,
                   const std::vector<domain::Box<3>>& blocks);

    /// Correct the derivative of scalar `s` in a block near surfaces, and set that in bodies: of
    /// diffusion if the body is conjugate, else 0.
    void correct(const FlowBlock& block, std::size_t number, std::size_t s,
                 const domain::View<double>& derivative) const;

  private:
    struct Row { ///< cells along i that are not fluid
        domain::Index<3> first{};
        std::int64_t size = 0;
        int body = -1; ///< around them; -1: none
    };
    struct Part {
        std::vector<CutPoint> fluid, solid; ///< cells near surfaces
        std::vector<int> body;              ///< of `solid`
        std::vector<Row> rows;
    };
    [[nodiscard]] const BodyCondition& condition(int body, std::size_t s) const {
        return flow_.bodies[static_cast<std::size_t>(body)].scalars[s];
    }
    [[nodiscard]] bool conducts(int body, std::size_t s) const {
        return body >= 0 && condition(body, s).kind == BodyCondition::Kind::conjugate;
    }
    /// Return the values along each axis around a fluid cell, as `line_of`.
    [[nodiscard]] std::array<std::array<double, 5>, 3>
    lines_of(const domain::View<const double>& scalar, const CutPoint& point, std::size_t s,
             int reach) const;
    void set_solid(const Part& part, const domain::View<const double>& scalar, std::size_t s,
                   const domain::View<double>& derivative) const;

    const FlowParameters& flow_;
    const std::array<AxisMetrics, 3>& metrics_;
    std::vector<Part> parts_; ///< of the blocks
};

} // namespace uzushio::thermal
