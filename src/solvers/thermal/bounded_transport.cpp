#include "solvers/thermal/bounded_transport.hpp"

#include <algorithm>

#include "solvers/thermal/fluxes.hpp"
#include "solvers/thermal/sources.hpp"
#include "solvers/thermal/subgrid.hpp"

namespace uzushio::thermal {

using domain::Box;
using domain::Index;
using domain::moved;
using domain::View;

namespace {

const domain::FieldSpec upwind_spec{.name = "upwind", .ghosts = 1};
const domain::FieldSpec shares_spec{.name = "shares", .components = 2, .ghosts = 1};
const domain::FieldSpec faces_spec{.name = "fluxes", .centring = domain::Centring::face};

} // namespace

std::vector<domain::FieldSpec> BoundedTransport::own_specs() {
    return {upwind_spec, upwind_spec, faces_spec};
}

std::vector<domain::FieldSpec> BoundedTransport::shared_specs() {
    return {faces_spec, {.name = "source"}, shares_spec};
}

BoundedTransport::BoundedTransport(MPI_Comm comm, const domain::Decomposition& decomposition,
                                   int rank, const FlowParameters& flow,
                                   const std::array<AxisMetrics, 3>& metrics, const Bodies* bodies,
                                   const std::vector<domain::Conditions>& conditions,
                                   parallel::Traffic& traffic)
    : flow_(flow), metrics_(metrics), bodies_(bodies),
      dimension_(static_cast<std::size_t>(flow.dimension)), flux_(decomposition, rank, faces_spec),
      source_(decomposition, rank, {.name = "source"}), shares_(decomposition, rank, shares_spec) {
    for (const domain::Conditions& of_scalar : conditions)
        scalars_.push_back({Field(decomposition, rank, upwind_spec),
                            Field(decomposition, rank, upwind_spec),
                            Field(decomposition, rank, faces_spec),
                            domain::Boundaries(decomposition, rank, upwind_spec, of_scalar)});
    upwind_halo_.emplace(comm, decomposition,
                         std::vector<domain::FieldSpec>(conditions.size(), upwind_spec),
                         domain::Reach::faces, traffic);
    shares_halo_.emplace(comm, decomposition, std::vector{shares_spec}, domain::Reach::faces,
                         traffic);
    if (bodies != nullptr)
        surfaces_.emplace(comm, flow, metrics, bodies->scalars(), flux_.blocks());
}

void BoundedTransport::add_stage(const std::vector<FlowBlock>& blocks,
                                 const std::vector<View<const double>>& eddies,
                                 const domain::StageInfo& stage, double time, double dt) {
    const double all = stage.weight * dt, upwind = dt / stage.count;
    if (stage.is_first())
        for (std::size_t s = 0; s < scalars_.size(); ++s) {
            for (std::size_t b = 0; b < blocks.size(); ++b)
                begin(b, blocks[b].scalars[s], scalars_[s]);
            if (surfaces_)
                surfaces_->begin(s);
        }
    else
        exchange_upwind(time);
    for (std::size_t s = 0; s < scalars_.size(); ++s) {
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            const View<const double>* eddy = eddies.empty() ? nullptr : &eddies[b];
            add_fluxes<0>(blocks[b], b, s, eddy, all, upwind);
            add_fluxes<1>(blocks[b], b, s, eddy, all, upwind);
            if (dimension_ == 3)
                add_fluxes<2>(blocks[b], b, s, eddy, all, upwind);
        }
        // Sides of cells at surfaces take the values before this stage.
        if (surfaces_)
            surfaces_->add_stage(blocks, s, all, upwind, scalars_[s].upwind);
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            advance_upwind(b, s, upwind);
            add_sources(b, s, time, all);
        }
    }
}

void BoundedTransport::begin(std::size_t b, const View<const double>& scalar, OfScalar& own) {
    const View<double> start = own.start.view(b), upwind = own.upwind.view(b);
    for_rows(start.box(), [&](const Index<3>& first, std::int64_t size) {
        std::copy_n(&scalar(first), size, &start(first));
        std::copy_n(&scalar(first), size, &upwind(first));
    });
    for (std::size_t a = 0; a < dimension_; ++a) {
        const View<double> excess = own.excess.view(b, a);
        std::fill_n(excess.data(), excess.box().volume(), 0.0);
    }
}

void BoundedTransport::exchange_upwind(double time) {
    std::vector<Field*> fields;
    for (OfScalar& scalar : scalars_)
        fields.push_back(&scalar.upwind);
    upwind_halo_->exchange(fields);
    for (OfScalar& scalar : scalars_)
        scalar.boundaries.apply(scalar.upwind, time);
}

// Gains of the cell below a face, per area: of diffusion less advection.
template <std::size_t A>
void BoundedTransport::add_fluxes(const FlowBlock& block, std::size_t b, std::size_t s,
                                  const View<const double>* eddies, double all, double upwind) {
    const View<double> flux = flux_.view(b, A), excess = scalars_[s].excess.view(b, A);
    const View<const double> values = scalars_[s].upwind.view(b);
    const View<const double>& scalar = block.scalars[s];
    const Box<3> faces = flux.box();
    const double diffusivity = flow_.scalars[s].diffusivity;
    for_rows(faces, [&](const Index<3>& first, std::int64_t size) {
        const RowMetrics m(metrics_, first);
        const RowPointer here(scalar, first), u(block.velocity[A], first);
        double* out = &flux(first);
        for (std::int64_t n = 0; n < size; ++n)
            out[n] = through_face<VanLeer, A>(m, here.value + n, here.stride[A], u.value[n],
                                              diffusivity, n, 0);
    });
    if (bodies_ != nullptr) {
        const auto& points = bodies_->scalars().fluid(b);
        const auto& gains = bodies_->scalars().fluid_gains(b, s);
        for (std::size_t p = 0; p < points.size(); ++p)
            for (const std::size_t side : {0UL, 1UL})
                if (points[p].cut.sides[A][side].link != 1)
                    flux(moved(points[p].cut.at, A, static_cast<std::int64_t>(side))) =
                        (side == 1 ? 1 : -1) * gains[p][A][side];
    }
    if (eddies != nullptr)
        add_subgrid_flux(flow_, metrics_, scalar, *eddies, A, faces, flux);
    for_rows(faces, [&](const Index<3>& first, std::int64_t size) {
        double *out = &flux(first), *rest = &excess(first);
        for (std::int64_t n = 0; n < size; ++n)
            rest[n] += all * out[n];
        const RowMetrics m(metrics_, first);
        const RowPointer here(values, first), u(block.velocity[A], first);
        for (std::int64_t n = 0; n < size; ++n) {
            const double below = here.value[n - here.stride[A]], above = here.value[n];
            out[n] = diffusivity * (above - below) * RowMetrics::at<A>(m.inverse_distance, n) -
                     u.value[n] * (u.value[n] > 0 ? below : above);
        }
    });
    // What flows in at a boundary has the value there.
    for (const bool is_upper : {false, true}) {
        Box<3> layer = faces;
        layer.lower[A] = is_upper ? faces.upper[A] - 1 : faces.lower[A];
        layer.upper[A] = layer.lower[A] + 1;
        if (!at_boundary(A, layer.lower[A]))
            continue;
        for_indices(layer, [&](const Index<3>& face) {
            const double below = values(moved(face, A, -1)), above = values(face);
            const double u = block.velocity[A](face);
            if (is_upper ? u < 0 : u > 0)
                flux(face) += u * 0.5 * (is_upper ? above - below : below - above);
        });
    }
    if (eddies != nullptr)
        add_subgrid_flux(flow_, metrics_, values, *eddies, A, faces, flux);
    for_rows(faces, [&](const Index<3>& first, std::int64_t size) {
        double *out = &flux(first), *rest = &excess(first);
        for (std::int64_t n = 0; n < size; ++n)
            rest[n] -= upwind * out[n];
        if (bodies_ == nullptr)
            return;
        for (std::int64_t n = 0; n < size; ++n)
            if (open(b, A, moved(first, 0, n)) == 0)
                out[n] = rest[n] = 0;
    });
}

void BoundedTransport::advance_upwind(std::size_t b, std::size_t s, double upwind) {
    const View<double> values = scalars_[s].upwind.view(b);
    for_rows(source_.owned(b), [&](const Index<3>& first, std::int64_t size) {
        double* row = &values(first);
        for (std::size_t a = 0; a < dimension_; ++a) {
            const View<const double> flux = std::as_const(flux_).view(b, a);
            const double* lower = &flux(first);
            const double* upper = lower + flux.strides()[a];
            const double* inverse = metrics_[a].inverse_width() + first[a];
            for (std::int64_t n = 0; n < size; ++n)
                row[n] += upwind * (upper[n] - lower[n]) * inverse[a == 0 ? n : 0];
        }
    });
}

void BoundedTransport::add_sources(std::size_t b, std::size_t s, double time, double length) {
    if (!flow_.scalars[s].source)
        return;
    const View<double> source = source_.view(b), values = scalars_[s].upwind.view(b);
    std::fill_n(source.data(), source.box().volume(), 0.0);
    add_source(flow_, flow_.scalars[s].source, time, 3, source.box(), source);
    for_indices(source.box(), [&](const Index<3>& at) {
        if (is_fluid(b, at))
            values(at) += length * source(at);
    });
}

void BoundedTransport::finish(std::size_t s, Field& scalar) {
    if (s == 0)
        exchange_upwind(0); // conditions of scalars do not depend on time
    for (std::size_t b = 0; b < scalar.blocks(); ++b)
        set_shares(b, s);
    shares_halo_->exchange(shares_);
    for (std::size_t b = 0; b < scalar.blocks(); ++b)
        add_shares(b, scalars_[s], scalar.view(b));
    if (surfaces_)
        surfaces_->finish(s, shares_, scalars_[s].start, scalar);
}

void BoundedTransport::set_shares(std::size_t b, std::size_t s) {
    const OfScalar& own = scalars_[s];
    const View<const double> start = own.start.view(b), upwind = own.upwind.view(b);
    const View<double> shares = shares_.view(b);
    std::fill_n(shares.data(), 2 * shares.box().volume(), 1.0); // also beyond boundaries
    const auto limit = [&](const Index<3>& at, double gain, double loss, double lower,
                           double upper) {
        const double up = std::max(upper - upwind(at), 0.0);
        const double down = std::max(upwind(at) - lower, 0.0);
        shares(at, 0) = gain > up ? up / gain : 1;
        shares(at, 1) = loss > down ? down / loss : 1;
    };
    struct Cell {
        double gain = 0, loss = 0, lower = 0, upper = 0;
    };
    const auto cell_of = [&](const Index<3>& at) {
        Cell cell{.lower = std::min(start(at), upwind(at)),
                  .upper = std::max(start(at), upwind(at))};
        const auto include = [&](double value) {
            cell.lower = std::min(cell.lower, value);
            cell.upper = std::max(cell.upper, value);
        };
        for (std::size_t a = 0; a < dimension_; ++a)
            for (const int side : {0, 1}) {
                const Index<3> face = moved(at, a, side);
                if (open(b, a, face) == 0)
                    continue;
                const double amount = (side == 1 ? 1 : -1) * own.excess.view(b, a)(face) *
                                      metrics_[a].inverse_width()[at[a]];
                (amount > 0 ? cell.gain : cell.loss) += std::abs(amount);
                const Index<3> next = moved(at, a, side == 1 ? 1 : -1);
                if (at_boundary(a, face[a])) {
                    include(0.5 * (start(at) + start(next)));
                    include(0.5 * (upwind(at) + upwind(next)));
                } else {
                    include(start(next));
                    include(upwind(next));
                }
            }
        return cell;
    };
    for_indices(source_.owned(b), [&](const Index<3>& at) {
        if (!is_fluid(b, at))
            return;
        const Cell cell = cell_of(at);
        limit(at, cell.gain, cell.loss, cell.lower, cell.upper);
    });
    if (!surfaces_)
        return;
    surfaces_->for_fluid(b, s, [&](const CutPoint& point, const SurfaceScalars::Gains& amounts) {
        Cell cell = cell_of(point.at);
        for_sides(point, [&](std::size_t a, std::size_t side, const CutSide& cut) {
            const double amount = amounts[a][side];
            (amount > 0 ? cell.gain : cell.loss) += std::abs(amount);
            const BodyCondition& body = bodies_->scalars().condition(cut.surface, s);
            double beyond = start(point.at);
            if (body.kind == BodyCondition::Kind::fixed)
                beyond = body.value;
            else if (body.kind == BodyCondition::Kind::conjugate)
                beyond = start(moved(point.at, a, side == 1 ? 1 : -1));
            cell.lower = std::min(cell.lower, beyond);
            cell.upper = std::max(cell.upper, beyond);
        });
        limit(point.at, cell.gain, cell.loss, cell.lower, cell.upper);
    });
}

void BoundedTransport::add_shares(std::size_t b, OfScalar& own, const View<double>& scalar) {
    const View<const double> shares = std::as_const(shares_).view(b);
    const View<double> upwind = own.upwind.view(b);
    for (std::size_t a = 0; a < dimension_; ++a) {
        const View<double> excess = own.excess.view(b, a);
        for_indices(excess.box(), [&](const Index<3>& face) {
            const Index<3> below = moved(face, a, -1);
            double& amount = excess(face); // gained by the cell below, lost by that above
            amount *= std::min(shares(below, amount > 0 ? 0 : 1), shares(face, amount > 0 ? 1 : 0));
        });
    }
    for_indices(source_.owned(b), [&](const Index<3>& at) {
        if (!is_fluid(b, at))
            return;
        double value = upwind(at);
        for (std::size_t a = 0; a < dimension_; ++a)
            value += (own.excess.view(b, a)(moved(at, a, 1)) - own.excess.view(b, a)(at)) *
                     metrics_[a].inverse_width()[at[a]];
        scalar(at) = value;
    });
}

} // namespace uzushio::thermal
