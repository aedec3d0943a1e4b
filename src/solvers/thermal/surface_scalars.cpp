#include "solvers/thermal/surface_scalars.hpp"

#include <algorithm>
#include <cmath>

#include "parallel/compensated_sum.hpp"
#include "solvers/thermal/fluxes.hpp"

namespace uzushio::thermal {

using Kind = BodyCondition::Kind;

namespace {

/// Gradients of a scalar at the surfaces near a cell, along the direction from the cell.
struct Near {
    Near(const View<const double>& scalar, const domain::Grid& grid, std::size_t dimensions,
         const CutPoint& point)
        : dimension(dimensions), grid_(grid), point_(point),
          here_(scalar.data() + scalar.offset(point.at)), stride_(scalar.strides()) {
        for (std::size_t a = 0; a < dimension; ++a)
            slopes_[a] = slope(a);
    }
    /// Return the distance of the neighbour.
    [[nodiscard]] double length(std::size_t a, int step) const {
        return 1 / grid_[a].inverse_distance()[point_.at[a] + (step > 0 ? 1 : 0)];
    }
    /// Return the part along `step` of the gradient along the surface, which is that in the cell.
    [[nodiscard]] double tangential(std::size_t a, int step) const {
        const Vector& normal = cut(a, step).normal;
        double along_normal = 0;
        for (std::size_t t = 0; t < dimension; ++t)
            along_normal += slopes_[t] * normal[t];
        return step * slopes_[a] - std::abs(normal[a]) * along_normal;
    }
    /// Return the part along `step` of the gradient across the surface, on this side, where
    /// `conductivity` is that beyond it over that on this side: the flux across it is continuous,
    /// and so is the gradient along it.
    [[nodiscard]] double across(std::size_t a, int step, double conductivity) const {
        const double distance = cut(a, step).distance;
        const double difference = here_[step * stride_[a]] - here_[0];
        return (difference - length(a, step) * tangential(a, step)) /
               (distance + (length(a, step) - distance) / conductivity);
    }
    /// Return the gradient along `step` at the side of the cell, linear between that at the surface
    /// and that at the opposite side.
    [[nodiscard]] double at_side(std::size_t a, int step, double at_surface) const {
        if (cut(a, -step).link == 1)
            return at_surface;
        const double behind = length(a, -step);
        const double opposite = (here_[0] - here_[-step * stride_[a]]) / behind;
        return opposite + (at_surface - opposite) * 0.5 * (length(a, step) + behind) /
                              (cut(a, step).distance + 0.5 * behind);
    }
    std::size_t dimension;

  private:
    [[nodiscard]] const CutSide& cut(std::size_t a, int step) const {
        return point_.sides[a][step > 0 ? 1 : 0];
    }
    /// Return the mean slope towards the neighbours along an axis that are on this side of all
    /// surfaces; 0 if there are none.
    [[nodiscard]] double slope(std::size_t a) const {
        double sum = 0;
        int count = 0;
        for (const int step : {-1, 1})
            if (cut(a, step).link != 1) {
                sum += step * (here_[step * stride_[a]] - here_[0]) / length(a, step);
                ++count;
            }
        return count == 0 ? 0 : sum / count;
    }
    const domain::Grid& grid_;
    const CutPoint& point_;
    const double* here_;
    Index<3> stride_;
    std::array<double, 3> slopes_{};
};

/// Return the gain of a cell by diffusion less advection through its lower (0) or upper (1) side
/// along axis `A`, per area; `middle` has its value in the middle of a line of values.
template <class Advected, std::size_t A>
double gain(const RowMetrics& m, const RowPointer& velocity, const double* middle,
            double diffusivity, std::size_t side) {
    const auto shift = static_cast<std::ptrdiff_t>(side);
    const double through = through_face<Advected, A>(
        m, middle + shift, 1, velocity.value[shift * velocity.stride[A]], diffusivity, 0, shift);
    return side == 1 ? through : -through;
}

} // namespace

SurfaceScalars::SurfaceScalars(MPI_Comm comm, const ImmersedGrid& immersed,
                               const SurfacePatches& patches, const FlowParameters& flow,
                               const std::vector<Box<3>>& blocks)
    : comm_(comm), flow_(flow), grid_(immersed.grid()) {
    const int reach = flow.scheme == Scheme::central ? 1 : 2;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        Part part;
        const geometry::Lattice cells = immersed.lattice(b, 3);
        for (CutPoint& point : cut_points(immersed, cells, blocks[b], 3, reach)) {
            if (immersed.is_fluid(b, point.at)) {
                FluidPoint& fluid = part.fluid.emplace_back(point);
                for_sides(point, [&](std::size_t a, std::size_t side, const CutSide& cut) {
                    fluid.patches[a][side] = patches.patch(b, point.at, cut.surface);
                });
            } else
                part.solid.push_back({.cut = point,
                                      .body = immersed.body_at(cells, point.at),
                                      .contacts = contacts_of(immersed, patches, b, cells, point)});
        }
        part.changes.resize(flow.scalars.size());
        for (auto& changes : part.changes)
            changes.resize(part.fluid.size() + part.solid.size());
        part.fluid_gains.assign(flow.scalars.size(), std::vector<Gains>(part.fluid.size()));
        part.solid_gains.assign(flow.scalars.size(), std::vector<Gains>(part.solid.size()));
        for_indices(blocks[b], [&](const Index<3>& at) {
            if (immersed.is_fluid(b, at))
                return;
            const int body = immersed.body_at(cells, at);
            if (!part.rows.empty()) {
                Row& last = part.rows.back();
                if (moved(last.first, 0, last.size) == at && last.body == body) {
                    ++last.size;
                    return;
                }
            }
            part.rows.push_back({at, 1, body});
        });
        parts_.push_back(std::move(part));
    }
    std::vector<parallel::CompensatedSum> areas(patches.count());
    bodies_.assign(patches.count(), 0);
    for (const Part& part : parts_)
        for (const FluidPoint& point : part.fluid)
            for_sides(point.cut, [&](std::size_t a, std::size_t side, const CutSide& cut) {
                const std::size_t patch = point.patches[a][side];
                bodies_[patch] = cut.surface;
                areas[patch].add(grid_.side_area(a, point.cut.at) * std::abs(cut.normal[a]));
            });
    areas_.resize(areas.size());
    parallel::sum_over_ranks(areas.data(), areas_.data(), areas.size(), comm);
    MPI_Allreduce(MPI_IN_PLACE, bodies_.data(), static_cast<int>(bodies_.size()), MPI_INT, MPI_MAX,
                  comm);
}

std::array<std::array<SurfaceScalars::Contact, 2>, 3>
SurfaceScalars::contacts_of(const ImmersedGrid& immersed, const SurfacePatches& patches,
                            std::size_t block, const geometry::Lattice& cells,
                            const CutPoint& point) const {
    std::array<std::array<Contact, 2>, 3> result{};
    for_sides(point, [&](std::size_t a, std::size_t side, const CutSide&) {
        const Index<3> next = moved(point.at, a, side == 0 ? -1 : 1);
        const geometry::CutLink& link =
            *immersed.cell_links(block, a).find(side == 0 ? next : point.at);
        const double middle = 0.5 * (link.lower.position + link.upper.position);
        const bool is_fluid = immersed.is_fluid(block, next);
        const int facing = immersed.body(side == 0 ? link.lower_body : link.upper_body);
        result[a][side] = {.is_fluid = is_fluid,
                           .body = immersed.body_at(cells, next),
                           .patch = is_fluid ? patches.patch(block, next, facing) : 0,
                           .distance = std::abs(middle - cells.position(a, point.at[a]))};
    });
    return result;
}

void SurfaceScalars::prepare(const std::vector<FlowBlock>& blocks) {
    const std::size_t patches = areas_.size(), scalars = flow_.scalars.size();
    std::vector<parallel::CompensatedSum> sums(2 * patches * scalars); // into fluid, into bodies
    for (std::size_t b = 0; b < parts_.size(); ++b)
        for (std::size_t s = 0; s < scalars; ++s) {
            parallel::CompensatedSum* into = sums.data() + 2 * patches * s;
            set_changes(blocks[b], b, s, {into, patches});
            set_changes_of_solid(blocks[b], b, s, {into + patches, patches});
        }
    std::vector<double> totals(sums.size());
    parallel::sum_over_ranks(sums.data(), totals.data(), sums.size(), comm_);
    const std::size_t bodies = flow_.bodies.size();
    fluxes_.assign(scalars, std::vector<double>(bodies));
    for (std::size_t s = 0; s < scalars; ++s) {
        std::vector<double> missing(patches), areas(bodies);
        std::vector<double>& fluxes = fluxes_[s];
        for (std::size_t patch = 0; patch < patches; ++patch) {
            const double area = areas_[patch];
            if (area == 0)
                continue;
            const BodyCondition& given = condition(bodies_[patch], s);
            const double* into = totals.data() + 2 * patches * s + patch;
            double flux = into[0];
            if (given.kind == Kind::flux)
                flux = given.value * area;
            else if (given.kind == Kind::conjugate)
                flux = -into[patches];
            missing[patch] = (flux - into[0]) / area;
            const auto body = static_cast<std::size_t>(bodies_[patch]);
            fluxes[body] += flux;
            areas[body] += area;
        }
        for (std::size_t body = 0; body < bodies; ++body)
            if (areas[body] > 0)
                fluxes[body] /= areas[body];
        for (Part& part : parts_)
            for (std::size_t p = 0; p < part.fluid.size(); ++p) {
                const FluidPoint& point = part.fluid[p];
                for_sides(point.cut, [&](std::size_t a, std::size_t side, const CutSide& cut) {
                    const double gain = missing[point.patches[a][side]] * std::abs(cut.normal[a]);
                    part.fluid_gains[s][p][a][side] += gain;
                    part.changes[s][p] += gain * grid_[a].inverse_width()[point.cut.at[a]];
                });
            }
    }
}

void SurfaceScalars::set_changes(const FlowBlock& block, std::size_t number, std::size_t s,
                                 std::span<parallel::CompensatedSum> into_fluid) {
    Part& part = parts_[number];
    const View<const double>& scalar = block.scalars[s];
    const double diffusivity = flow_.scalars[s].diffusivity;
    for_scheme(flow_, [&]<class Advected, std::size_t D>() {
        for (std::size_t p = 0; p < part.fluid.size(); ++p) {
            const CutPoint& point = part.fluid[p].cut;
            const RowMetrics m(grid_, point.at);
            const RowPointer stored(scalar, point.at);
            const auto lines = lines_of(scalar, point, s, Advected::ghosts);
            double change = 0;
            const auto along = [&]<std::size_t A>() {
                const RowPointer u(block.velocity[A], point.at);
                const double* middle = lines.values[A].data() + 2;
                double sum = 0;
                for (const std::size_t side : {0UL, 1UL}) {
                    const CutSide& cut = point.sides[A][side];
                    const double gained = gain<Advected, A>(m, u, middle, diffusivity, side) +
                                          diffusivity * lines.gradients[A][side];
                    sum += gained;
                    part.fluid_gains[s][p][A][side] = gained;
                    if (cut.link == 1)
                        into_fluid[part.fluid[p].patches[A][side]].add(
                            gained * grid_.side_area(A, point.at));
                }
                change += sum * RowMetrics::at<A>(m.inverse_width, 0) -
                          scalar_along<Advected, A>(m, stored.value, stored.stride[A], u.value,
                                                    u.stride[A], diffusivity, 0);
            };
            along.template operator()<0>();
            along.template operator()<1>();
            if constexpr (D == 3)
                along.template operator()<2>();
            part.changes[s][p] = change;
        }
    });
}

void SurfaceScalars::set_changes_of_solid(const FlowBlock& block, std::size_t number, std::size_t s,
                                          std::span<parallel::CompensatedSum> into) {
    Part& part = parts_[number];
    const View<const double>& scalar = block.scalars[s];
    for (std::size_t p = 0; p < part.solid.size(); ++p) {
        const Point& point = part.solid[p];
        double& change = part.changes[s][part.fluid.size() + p];
        change = 0;
        if (!conducts(point.body, s))
            continue;
        const BodyCondition& body = condition(point.body, s);
        const double diffusivity = flow_.scalars[s].diffusivity * body.conductivity;
        const double* here = scalar.data() + scalar.offset(point.cut.at);
        const Near near(scalar, grid_, static_cast<std::size_t>(flow_.dimension), point.cut);
        for_sides(point.cut, [&](std::size_t a, std::size_t side, const CutSide& cut) {
            const int step = side == 0 ? -1 : 1;
            const Contact& contact = point.contacts[a][side];
            if (!contact.is_fluid && contact.body == point.body)
                return; // the surface is that of another body, inside this one
            const std::ptrdiff_t stride = step * scalar.strides()[a];
            const double length = near.length(a, step);
            const double gradient =
                contact.is_fluid
                    ? near.across(a, step, 1 / body.conductivity) + near.tangential(a, step)
                    : into_solid(here, stride, length, cut, contact, body, s);
            const double stored = (here[stride] - here[0]) / length;
            change += diffusivity * (gradient - stored) *
                      grid_[a].inverse_width()[point.cut.at[a]] / body.capacity;
            if (contact.is_fluid) {
                part.solid_gains[s][p][a][side] = diffusivity * gradient;
                into[contact.patch].add(diffusivity * gradient * grid_.side_area(a, point.cut.at));
            }
        });
    }
}

double SurfaceScalars::into_solid(const double* here, std::ptrdiff_t stride, double length,
                                  const CutSide& cut, const Contact& contact,
                                  const BodyCondition& own, std::size_t s) const {
    if (conducts(contact.body, s)) { // conductors in series: both cells find the same flux
        const double ratio = own.conductivity / condition(contact.body, s).conductivity;
        return (here[stride] - here[0]) / (contact.distance + (length - contact.distance) * ratio);
    }
    if (contact.body < 0 || condition(contact.body, s).kind != Kind::fixed)
        return 0;
    const double value = condition(contact.body, s).value;
    return (cut.beyond(value, here[0], here[-stride]) - here[0]) / length;
}

bool SurfaceScalars::has_given_flux(std::size_t s, std::size_t axis, std::int64_t cell,
                                    bool upper) const {
    if (flow_.periodic[axis] || cell != (upper ? grid_[axis].cells() - 1 : 0))
        return false;
    const FaceCondition& face =
        flow_.faces.at(Face{axis, upper ? domain::Side::upper : domain::Side::lower}.name());
    return !face.scalars[s].fixed;
}

void SurfaceScalars::correct(const FlowBlock& block, std::size_t number, std::size_t s,
                             const View<double>& derivative) const {
    const Part& part = parts_[number];
    set_bodies(part, block.scalars[s], s, derivative);
    const double* change = part.changes[s].data();
    for (const FluidPoint& point : part.fluid)
        derivative(point.cut.at) += *change++;
    for (const Point& point : part.solid)
        derivative(point.cut.at) += *change++;
}

void SurfaceScalars::fill_bodies(domain::Field<double>& scalar, std::size_t s) const {
    for (std::size_t b = 0; b < parts_.size(); ++b)
        for (const Row& row : parts_[b].rows)
            if (row.body >= 0 && condition(row.body, s).kind == Kind::fixed)
                std::fill_n(&scalar.view(b)(row.first), row.size, condition(row.body, s).value);
}

SurfaceScalars::Lines SurfaceScalars::lines_of(const View<const double>& scalar,
                                               const CutPoint& point, std::size_t s,
                                               int reach) const {
    const double* here = scalar.data() + scalar.offset(point.at);
    const Near near(scalar, grid_, static_cast<std::size_t>(flow_.dimension), point);
    Lines lines;
    for (std::size_t a = 0; a < near.dimension; ++a) {
        lines.values[a] = line_of(here, scalar.strides()[a], reach, point.sides[a],
                                  [&](int body) { return condition(body, s).value; });
        double* middle = lines.values[a].data() + 2;
        for (const std::size_t side : {0UL, 1UL}) {
            const int step = side == 0 ? -1 : 1;
            const CutSide& cut = point.sides[a][side];
            if (cut.link == 0 || condition(cut.surface, s).kind == Kind::fixed)
                continue;
            for (int shift = cut.link; shift <= 2; ++shift)
                middle[shift * step] = middle[(cut.link - 1) * step];
            if (cut.link == 2)
                continue;
            const BodyCondition& given = condition(cut.surface, s);
            const double gradient =
                near.tangential(a, step) +
                (given.kind == Kind::flux
                     ? given.value / flow_.scalars[s].diffusivity * std::abs(cut.normal[a])
                     : near.across(a, step, given.conductivity));
            lines.gradients[a][side] = near.at_side(a, step, gradient);
        }
    }
    return lines;
}

void SurfaceScalars::set_bodies(const Part& part, const View<const double>& scalar, std::size_t s,
                                const View<double>& derivative) const {
    const double diffusivity = flow_.scalars[s].diffusivity;
    const auto dimension = static_cast<std::size_t>(flow_.dimension);
    for (const Row& row : part.rows) {
        Index<3> at = row.first;
        if (!conducts(row.body, s)) {
            std::fill_n(&derivative(at), row.size, 0.0);
            continue;
        }
        const BodyCondition& body = condition(row.body, s);
        for (std::int64_t n = 0; n < row.size; ++n, ++at[0]) {
            const double* here = scalar.data() + scalar.offset(at);
            double sum = 0;
            for (std::size_t a = 0; a < dimension; ++a) {
                const double* inverse = grid_[a].inverse_distance() + at[a];
                const std::ptrdiff_t stride = scalar.strides()[a];
                double above = (here[stride] - here[0]) * inverse[1];
                double below = (here[0] - here[-stride]) * inverse[0];
                // The ghosts give this flux with the diffusivity of the fluid.
                if (has_given_flux(s, a, at[a], true))
                    above /= body.conductivity;
                if (has_given_flux(s, a, at[a], false))
                    below /= body.conductivity;
                sum += (above - below) * grid_[a].inverse_width()[at[a]];
            }
            derivative(at) = (diffusivity * body.conductivity * sum + body.value) / body.capacity;
        }
    }
}

} // namespace uzushio::thermal
