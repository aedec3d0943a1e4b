#pragma once

#include <mpi.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "solvers/thermal/flow_solver.hpp"

namespace uzushio::thermal {

using domain::Index;
using domain::SolverBlock;
using domain::Vector;

/// Return positions of the faces of `cells` cells of [0, length]; stretched: fine at both ends.
inline std::vector<double> vertices_of(int cells, double length, double stretching = 0) {
    std::vector<double> vertices;
    for (int i = 0; i <= cells; ++i) {
        const double at = static_cast<double>(i) / cells;
        vertices.push_back(length * (at - stretching * std::sin(2 * std::numbers::pi * at) /
                                              (2 * std::numbers::pi)));
    }
    return vertices;
}

/// Flow that begins with functions of position.
class Flow : public FlowSolver {
  public:
    using Velocity = std::function<double(std::size_t component, const Vector& at)>;
    using Value = std::function<double(const Vector& at)>;

    Flow(const FlowParameters& parameters, Velocity velocity, Value scalar = {},
         MPI_Comm comm = MPI_COMM_WORLD, bool wraps = true)
        : FlowSolver(parameters), parameters_(parameters), wraps_(wraps),
          velocity_(std::move(velocity)), scalar_(std::move(scalar)) {
        set_up(comm);
        begin();
    }
    /// Return the position of a value: at a vertex along `stagger`, otherwise between two.
    [[nodiscard]] Vector position(const Index<3>& at, std::size_t stagger) const {
        Vector x{};
        for (std::size_t a = 0; a < static_cast<std::size_t>(parameters_.dimension); ++a) {
            const auto& v = parameters_.vertices[a];
            const auto n = static_cast<std::int64_t>(v.size()) - 1;
            const auto i =
                static_cast<std::size_t>(wraps_ && parameters_.periodic[a] ? at[a] % n : at[a]);
            x[a] = a == stagger ? v[i] : 0.5 * (v[i] + v[i + 1]);
        }
        return x;
    }
    /// Return the maximum error of a component over all ranks.
    double velocity_error(const Velocity& exact) {
        double error = 0;
        for (std::size_t b = 0; b < blocks(); ++b)
            for (std::size_t a = 0; a < static_cast<std::size_t>(parameters_.dimension); ++a) {
                const auto u = field("face_velocity").view(b, a);
                for_indices(field("face_velocity").owned(b, a), [&](const Index<3>& at) {
                    error = std::max(error, std::abs(u(at) - exact(a, position(at, a))));
                });
            }
        return maximum(error);
    }
    double scalar_error(const Value& exact) {
        double error = 0;
        for (std::size_t b = 0; b < blocks(); ++b) {
            const auto s = field(parameters_.scalars[0].name).view(b);
            for_indices(block(b).cells(), [&](const Index<3>& at) {
                error = std::max(error, std::abs(s(at) - exact(position(at, 3))));
            });
        }
        return maximum(error);
    }
    void run(double end, double dt) {
        while (time() < end - 1e-12)
            step(std::min(dt, end - time()));
    }

  protected:
    void initial(const SolverBlock& block) override {
        for (std::size_t a = 0; a < static_cast<std::size_t>(parameters_.dimension); ++a) {
            const auto u = block.field("face_velocity", a);
            for_indices(field("face_velocity").owned(block.local(), a),
                        [&](const Index<3>& at) { u(at) = velocity_(a, position(at, a)); });
        }
        for (const Scalar& one : parameters_.scalars) {
            const auto s = block.field(one.name);
            for_indices(block.cells(),
                        [&](const Index<3>& at) { s(at) = scalar_(position(at, 3)); });
        }
    }

  private:
    double maximum(double value) const {
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm());
        return value;
    }
    FlowParameters parameters_;
    bool wraps_; ///< whether the last vertex of a periodic axis has the position of the first one
    Velocity velocity_;
    Value scalar_;
};

} // namespace uzushio::thermal
