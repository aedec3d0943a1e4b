#include "solvers/thermal/bounded_transport.hpp"

#include <algorithm>

#include "domain/parts.hpp"
#include "solvers/thermal/bounded_rows.hpp"
#include "solvers/thermal/sources.hpp"
#include "solvers/thermal/subgrid.hpp"

namespace uzushio::thermal {

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
                                   int rank, const FlowParameters& flow, const domain::Grid& grid,
                                   const Bodies* bodies,
                                   const std::vector<domain::Conditions>& conditions,
                                   parallel::Traffic& traffic)
    : flow_(flow), grid_(grid), bodies_(bodies),
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
        surfaces_.emplace(comm, flow, grid, bodies->scalars(), flux_.blocks());
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
    for_rows_on_threads(start.box(), [&](const Index<3>& first, std::int64_t size) {
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
    for_rows_on_threads(faces, [&](const Index<3>& first, std::int64_t size) {
        flux_row<A>(RowMetrics(grid_, first), RowPointer(scalar, first),
                    RowPointer(block.velocity[A], first), diffusivity, size, &flux(first));
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
    const auto add_subgrid = [&](const View<const double>& of) {
        if (eddies != nullptr)
            for_parts(faces, [&](const Box<3>& part) {
                add_subgrid_flux(flow_, grid_, of, *eddies, A, part, flux);
            });
    };
    add_subgrid(scalar);
    for_rows_on_threads(faces, [&](const Index<3>& first, std::int64_t size) {
        upwind_row<A>(RowMetrics(grid_, first), RowPointer(values, first),
                      RowPointer(block.velocity[A], first), diffusivity, all, size, &flux(first),
                      &excess(first));
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
    add_subgrid(values);
    for_rows_on_threads(faces, [&](const Index<3>& first, std::int64_t size) {
        double* __restrict out = &flux(first);
        double* __restrict rest = &excess(first);
#pragma omp simd
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
    for_rows_on_threads(source_.owned(b), [&](const Index<3>& first, std::int64_t size) {
        double* __restrict row = &values(first);
        for (std::size_t a = 0; a < dimension_; ++a) {
            const View<const double> flux = std::as_const(flux_).view(b, a);
            const double* __restrict lower = &flux(first);
            const double* __restrict upper = lower + flux.strides()[a];
            const double* __restrict inverse = grid_[a].inverse_width() + first[a];
            const std::ptrdiff_t step = a == 0 ? 1 : 0;
#pragma omp simd
            for (std::int64_t n = 0; n < size; ++n)
                row[n] += upwind * (upper[n] - lower[n]) * inverse[n * step];
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

// Beyond boundaries, values are those at the boundary: bounds of the cells beside it.
void BoundedTransport::set_boundary_values(const View<double>& values, const Box<3>& cells) const {
    for (std::size_t a = 0; a < dimension_; ++a)
        for (const bool is_upper : {false, true}) {
            Box<3> layer = cells;
            layer.lower[a] = is_upper ? cells.upper[a] - 1 : cells.lower[a];
            layer.upper[a] = layer.lower[a] + 1;
            if (!at_boundary(a, layer.lower[a] + (is_upper ? 1 : 0)))
                continue;
            for_indices(layer, [&](const Index<3>& at) {
                double& beyond = values(moved(at, a, is_upper ? 1 : -1));
                beyond = 0.5 * (beyond + values(at));
            });
        }
}

void BoundedTransport::set_shares(std::size_t b, std::size_t s) {
    OfScalar& own = scalars_[s];
    const View<double> start = own.start.view(b), upwind = own.upwind.view(b);
    const View<double> shares = shares_.view(b);
    const Box<3>& cells = source_.owned(b);
    std::fill_n(shares.data(), 2 * shares.box().volume(), 1.0); // also beyond boundaries
    set_boundary_values(start, cells);
    set_boundary_values(upwind, cells);
    for_parts(cells, [&](const Box<3>& part) {
        RowBounds bounds;
        for_rows(part, [&](const Index<3>& first, std::int64_t size) {
            const double* now = &upwind(first);
            bounds.begin(&start(first), now, size);
            for (std::size_t a = 0; a < dimension_; ++a) {
                const View<const double> excess = std::as_const(own.excess).view(b, a);
                bounds.add(&start(first), start.strides()[a], now, upwind.strides()[a],
                           &excess(first), excess.strides()[a], grid_[a].inverse_width() + first[a],
                           a == 0 ? 1 : 0, size);
            }
            double *up = &shares(first, 0), *down = &shares(first, 1);
            for (std::int64_t n = 0; n < size; ++n) {
                const auto at = static_cast<std::size_t>(n);
                up[n] = share_of(bounds.gain[at], bounds.upper[at] - now[n]);
                down[n] = share_of(bounds.loss[at], now[n] - bounds.lower[at]);
            }
        });
    });
    if (!surfaces_)
        return;
    // Cells at surfaces, again: only cells beyond open faces are neighbours.
    surfaces_->for_fluid(b, s, [&](const CutPoint& point, const SurfaceScalars::Gains& amounts) {
        const Index<3>& at = point.at;
        double gain = 0, loss = 0, lower = upwind(at), upper = upwind(at);
        const auto include = [&](double value) {
            lower = std::min(lower, value);
            upper = std::max(upper, value);
        };
        include(start(at));
        for (std::size_t a = 0; a < dimension_; ++a)
            for (const std::size_t side : {0UL, 1UL}) {
                const Index<3> face = moved(at, a, static_cast<std::int64_t>(side));
                const Index<3> next = moved(at, a, side == 1 ? 1 : -1);
                const CutSide& cut = point.sides[a][side];
                double amount = 0;
                if (cut.link == 1) {
                    amount = amounts[a][side];
                    const BodyCondition& body = bodies_->scalars().condition(cut.surface, s);
                    if (body.kind == BodyCondition::Kind::fixed)
                        include(body.value);
                    else if (body.kind == BodyCondition::Kind::conjugate)
                        include(start(next));
                } else {
                    amount = (side == 1 ? 1 : -1) * own.excess.view(b, a)(face) *
                             grid_[a].inverse_width()[at[a]];
                    include(start(next));
                    include(upwind(next));
                }
                (amount > 0 ? gain : loss) += std::abs(amount);
            }
        shares(at, 0) = share_of(gain, upper - upwind(at));
        shares(at, 1) = share_of(loss, upwind(at) - lower);
    });
}

void BoundedTransport::add_shares(std::size_t b, OfScalar& own, const View<double>& scalar) {
    const View<const double> shares = std::as_const(shares_).view(b);
    for (std::size_t a = 0; a < dimension_; ++a) {
        const View<double> excess = own.excess.view(b, a);
        const std::ptrdiff_t back = shares.strides()[a];
        for_rows_on_threads(excess.box(), [&](const Index<3>& first, std::int64_t size) {
            double* __restrict amount = &excess(first); // gained below, lost above
            const double* __restrict up = &shares(first, 0);
            const double* __restrict down = &shares(first, 1);
#pragma omp simd
            for (std::int64_t n = 0; n < size; ++n) {
                const double rising = std::min(up[n - back], down[n]);
                const double falling = std::min(down[n - back], up[n]);
                amount[n] *= amount[n] > 0 ? rising : falling;
            }
        });
    }
    const View<double> upwind = own.upwind.view(b);
    for_rows_on_threads(source_.owned(b), [&](const Index<3>& first, std::int64_t size) {
        double* __restrict value = &upwind(first);
        for (std::size_t a = 0; a < dimension_; ++a) {
            const View<const double> excess = std::as_const(own.excess).view(b, a);
            const double* __restrict lower = &excess(first);
            const double* __restrict upper = lower + excess.strides()[a];
            const double* __restrict inverse = grid_[a].inverse_width() + first[a];
            const std::ptrdiff_t step = a == 0 ? 1 : 0;
#pragma omp simd
            for (std::int64_t n = 0; n < size; ++n)
                value[n] += (upper[n] - lower[n]) * inverse[n * step];
        }
        double* out = &scalar(first);
        if (bodies_ == nullptr) {
            std::copy_n(value, size, out);
            return;
        }
        for (std::int64_t n = 0; n < size; ++n)
            if (is_fluid(b, moved(first, 0, n)))
                out[n] = value[n];
    });
}

} // namespace uzushio::thermal
