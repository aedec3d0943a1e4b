#include "solvers/thermal/projection.hpp"

#include <cmath>
#include <sstream>

#include "domain/parts.hpp"
#include "linalg/solvers.hpp"
#include "parallel/compensated_sum.hpp"

namespace uzushio::thermal {

namespace {

using parallel::Section;

std::vector<Box<3>> owned_boxes(const Projection::Field& field) {
    std::vector<Box<3>> boxes;
    for (std::size_t b = 0; b < field.blocks(); ++b)
        boxes.push_back(field.owned(b));
    return boxes;
}

const domain::FieldSpec& cell_spec() {
    static const domain::FieldSpec spec{.name = "divergence"};
    return spec;
}

} // namespace

Projection::Projection(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
                       const FlowParameters& flow, const domain::Grid& grid,
                       const ImmersedGrid* immersed, parallel::Traffic& traffic,
                       parallel::SectionMonitor& sections)
    : comm_(comm), rank_(rank), flow_(flow), grid_(grid), immersed_(immersed), sections_(sections),
      decomposition_(std::make_shared<domain::Decomposition>(decomposition)),
      divergence_(decomposition, rank, cell_spec()),
      residual_(decomposition, rank, cell_spec(), false), volume_(fluid_volume()),
      halo_(comm, decomposition, {{.name = "pressure", .ghosts = 1}}, domain::Reach::faces,
            traffic) {
    for (const auto& [face, condition] : conditioned_faces(flow)) {
        if (condition->kind == FaceCondition::Kind::inflow)
            inflow_ += inward_component(face, condition->velocity) * open_area(face);
        if (condition->kind == FaceCondition::Kind::outflow)
            outflow_area_ += open_area(face);
    }
    linalg::Equation equation{.decomposition = decomposition_};
    for (const auto& [name, condition] : flow.faces)
        equation.conditions[name] = linalg::Condition::neumann;
    if (immersed != nullptr)
        equation.b = immersed->open();
    singular_ = linalg::is_singular(equation);
    solver_ = linalg::make_solver(flow.solver, comm, equation, flow.limits, traffic, sections);
}

void Projection::begin_stage(const Field& velocity, double step, double time_scale) {
    constexpr double short_step = 0.1, removal = 0.01; // of the time scale
    removal_time_ = step < short_step * time_scale ? removal * time_scale : 0;
    if (removal_time_ == 0)
        return;
    const Section section(sections_, "divergence");
    residual_.allocate();
    set_divergence(velocity, 1, residual_);
}

void Projection::apply(Field& velocity, Field& pressure, double dt) {
    {
        const Section section(sections_, "divergence");
        if (outflow_area_ > 0)
            balance(velocity);
        set_divergence(velocity, 1 / dt, divergence_);
        if (removal_time_ > dt)
            add_residual(1 / removal_time_ - 1 / dt);
        if (singular_)
            remove_mean(divergence_); // round-off
    }
    {
        const Section section(sections_, "pressure solver");
        linalg::SolveReport report;
        try {
            report = solver_->solve(divergence_, pressure);
        } catch (const std::exception& error) { // on all ranks
            throw Diverged("the pressure has no solution: " + std::string(error.what()) +
                           " (if the velocity has grown, use a smaller time.dt or time.cfl)");
        }
        if (!report.converged) {
            std::ostringstream text;
            text << "the pressure solver '" << report.solver << "' has not converged after "
                 << report.iterations << " iterations: the residual is " << report.residual
                 << " of the divergence, above the tolerance " << flow_.limits.tolerance
                 << "; use another numerics.solver (auto, or cg/fft where cells are much longer "
                    "than "
                    "wide), a larger numerics.max_iterations or numerics.tolerance; if the "
                    "velocity has grown, use a smaller time.dt or time.cfl";
            throw Diverged(text.str());
        }
    }
    {
        const Section section(sections_, "halo exchange");
        halo_.exchange(pressure);
    }
    const Section section(sections_, "pressure gradient");
    subtract_gradient(pressure, dt, velocity);
}

void Projection::add_residual(double factor) {
    for (std::size_t b = 0; b < divergence_.blocks(); ++b)
        for_rows_on_threads(divergence_.owned(b), [&](const Index<3>& first, std::int64_t size) {
            double* row = &divergence_.view(b)(first);
            const double* residual = &residual_.view(b)(first);
            for (std::int64_t n = 0; n < size; ++n)
                row[n] += factor * residual[n];
        });
}

void Projection::balance(Field& velocity) const {
    parallel::CompensatedSum outflow;
    const auto for_outflow = [&](auto&& visit) {
        for (const auto& [face, condition] : conditioned_faces(flow_)) {
            if (condition->kind != FaceCondition::Kind::outflow)
                continue;
            for (std::size_t b = 0; b < velocity.blocks(); ++b) {
                const auto cells = grid_.cells_at(face, divergence_.owned(b));
                for_indices(cells, [&, &face = face](Index<3> at) {
                    if (immersed_ != nullptr && !immersed_->is_fluid(b, at))
                        return;
                    at[face.axis] += face.is_upper() ? 1 : 0;
                    visit(face, at, velocity.view(b, face.axis)(at));
                });
            }
        }
    };
    for_outflow([&](const Face& face, const Index<3>& at, double value) {
        outflow.add(value * (face.is_upper() ? 1 : -1) * grid_.side_area(face.axis, at));
    });
    const double flux = parallel::sum_over_ranks(outflow, comm_);
    const double missing = (inflow_ - flux) / outflow_area_;
    for_outflow([&](const Face& face, const Index<3>&, double& value) {
        value += face.is_upper() ? missing : -missing;
    });
}

void Projection::set_divergence(const Field& velocity, double factor, Field& divergence) const {
    for (std::size_t b = 0; b < divergence.blocks(); ++b) {
        const auto out = divergence.view(b);
        for_rows_on_threads(divergence.owned(b), [&](const Index<3>& first, std::int64_t size) {
            double* __restrict row = &out(first);
            for (std::size_t a = 0; a < velocity.arrays(); ++a) {
                const auto u = velocity.view(b, a);
                const double* __restrict lower = u.data() + u.offset(first);
                const double* __restrict upper = lower + u.strides()[a];
                const double* __restrict inverse = grid_[a].inverse_width() + first[a];
                const double constant = factor * inverse[0];
                if (a == 0) {
#pragma omp simd
                    for (std::int64_t n = 0; n < size; ++n)
                        row[n] = factor * inverse[n] * (upper[n] - lower[n]);
                } else {
#pragma omp simd
                    for (std::int64_t n = 0; n < size; ++n)
                        row[n] += constant * (upper[n] - lower[n]);
                }
            }
            clear_solid(b, first, size, row);
        });
    }
}

void Projection::clear_solid(std::size_t block, const Index<3>& first, std::int64_t size,
                             double* row) const {
    if (immersed_ == nullptr)
        return;
    Index<3> at = first;
    for (std::int64_t n = 0; n < size; ++n, ++at[0])
        if (!immersed_->is_fluid(block, at))
            row[n] = 0;
}

double Projection::open_area(const Face& face) const {
    if (immersed_ == nullptr)
        return grid_.area(face);
    parallel::CompensatedSum sum;
    for (std::size_t b = 0; b < divergence_.blocks(); ++b)
        for_indices(grid_.cells_at(face, divergence_.owned(b)), [&](const Index<3>& at) {
            sum.add(immersed_->is_fluid(b, at) ? grid_.side_area(face.axis, at) : 0);
        });
    return parallel::sum_over_ranks(sum, comm_);
}

double Projection::fluid_volume() const {
    if (immersed_ == nullptr) {
        double volume = 1;
        for (std::size_t a = 0; a < 3; ++a)
            volume *= grid_[a].length();
        return volume;
    }
    parallel::CompensatedSum sum;
    for (std::size_t b = 0; b < divergence_.blocks(); ++b)
        for_indices(divergence_.owned(b), [&](const Index<3>& at) {
            double volume = immersed_->is_fluid(b, at) ? 1 : 0;
            for (std::size_t a = 0; a < 3; ++a)
                volume *= grid_[a].width()[at[a]];
            sum.add(volume);
        });
    return parallel::sum_over_ranks(sum, comm_);
}

void Projection::remove_mean(Field& x) const {
    const auto boxes = owned_boxes(x);
    parallel::CompensatedSum sum;
    for (const auto& of_part : domain::results_of_parts<parallel::CompensatedSum>(
             boxes, [&](parallel::CompensatedSum& own, std::size_t b, const Box<3>& cells) {
                 for_rows(cells, [&](const Index<3>& first, std::int64_t size) {
                     const double* row = &x.view(b)(first);
                     const double* width = grid_[0].width() + first[0];
                     const double across = grid_[1].width()[first[1]] * grid_[2].width()[first[2]];
                     own.add(0, static_cast<int>(size),
                             [&](int n) { return width[n] * across * row[n]; });
                 });
             }))
        sum.add(of_part);
    const double mean = parallel::sum_over_ranks(sum, comm_) / volume_;
    if (!std::isfinite(mean))
        throw Diverged("the velocity is not finite: use a smaller time.dt or time.cfl");
    for (std::size_t b = 0; b < x.blocks(); ++b)
        for_rows_on_threads(x.owned(b), [&](const Index<3>& first, std::int64_t size) {
            double* row = &x.view(b)(first);
            for (std::int64_t n = 0; n < size; ++n)
                row[n] -= mean;
            clear_solid(b, first, size, row);
        });
}

void Projection::subtract_gradient(const Field& pressure, double dt, Field& velocity) const {
    std::vector<Box<3>> sides; // of each axis of each block
    for (std::size_t b = 0; b < velocity.blocks(); ++b)
        for (std::size_t a = 0; a < velocity.arrays(); ++a)
            sides.push_back(grid_.inner_sides(a, velocity.owned(b, a)));
    domain::for_parts(sides, [&](std::size_t number, const Box<3>& part) {
        const std::size_t b = number / velocity.arrays(), a = number % velocity.arrays();
        const auto p = pressure.view(b);
        const auto u = velocity.view(b, a);
        for_rows(part, [&](const Index<3>& first, std::int64_t size) {
            double* __restrict row = &u(first);
            const double* __restrict above = p.data() + p.offset(first);
            const double* __restrict below = above - p.strides()[a];
            const double* __restrict inverse = grid_[a].inverse_distance() + first[a];
            if (a == 0) {
#pragma omp simd
                for (std::int64_t n = 0; n < size; ++n)
                    row[n] -= dt * inverse[n] * (above[n] - below[n]);
            } else {
                const double factor = dt * inverse[0];
#pragma omp simd
                for (std::int64_t n = 0; n < size; ++n)
                    row[n] -= factor * (above[n] - below[n]);
            }
        });
    });
}

double Projection::max_divergence(const Field& velocity) const {
    Field divergence(*decomposition_, rank_, cell_spec());
    set_divergence(velocity, 1, divergence);
    double largest = 0;
    for (std::size_t b = 0; b < divergence.blocks(); ++b)
        for_indices(divergence.owned(b), [&](const Index<3>& at) {
            largest = std::max(largest, std::abs(divergence.view(b)(at)));
        });
    MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, comm_);
    return largest;
}

} // namespace uzushio::thermal
