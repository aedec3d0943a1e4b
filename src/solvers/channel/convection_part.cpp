#include "solvers/channel/convection_part.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace uzushio::channel {

using parallel::AlignedArray;
using parallel::block;
using parallel::Range;
namespace section = parallel::section;

namespace {

constexpr int rows_at_a_time = 4; ///< so that their products stay in cache

/// Operations of the kernels below for one point or one mode.
constexpr double multiply_flops = 22, max_rate_flops = 6, combine_flops = 35;

/// Rows of u and v in a cell and in the cell above, and of w at the cell's lower and upper face.
struct Cell {
    const double *u, *v, *w, *u_above, *v_above, *w_above;
};

/// Compute the seven products of a row, `pitch` apart: uu - ww, uv, vv - ww at the cell; uw, vw
/// through the upper face for the u and v equations; wu, wv along the upper face for the w
/// equation. `share`: the cell's part of the height of both cells.
void multiply(int n, double share, const Cell& cell, double* products, std::ptrdiff_t pitch) {
    const double* __restrict u = cell.u;
    const double* __restrict v = cell.v;
    const double* __restrict w = cell.w;
    const double* __restrict u_above = cell.u_above;
    const double* __restrict v_above = cell.v_above;
    const double* __restrict w_above = cell.w_above;
    double* __restrict uu = products;
    double* __restrict uv = uu + pitch;
    double* __restrict vv = uv + pitch;
    double* __restrict uw = vv + pitch;
    double* __restrict vw = uw + pitch;
    double* __restrict wu = vw + pitch;
    double* __restrict wv = wu + pitch;
    const double share_above = 1.0 - share;
#pragma omp simd
    for (int i = 0; i < n; ++i) {
        const double centre = 0.5 * (w[i] + w_above[i]);
        const double ww = centre * centre;
        uu[i] = u[i] * u[i] - ww;
        uv[i] = u[i] * v[i];
        vv[i] = v[i] * v[i] - ww;
        uw[i] = w_above[i] * 0.5 * (u[i] + u_above[i]);
        vw[i] = w_above[i] * 0.5 * (v[i] + v_above[i]);
        wu[i] = w_above[i] * (share * u[i] + share_above * u_above[i]);
        wv[i] = w_above[i] * (share * v[i] + share_above * v_above[i]);
    }
}

/// Return the maximum of |u| a + |v| b + |w| c over a row, and add its sum to `sum`.
double row_max_rate(int n, double a, double b, double c, const Cell& cell, double& sum) {
    const double* __restrict u = cell.u;
    const double* __restrict v = cell.v;
    const double* __restrict w = cell.w;
    const double* __restrict w_above = cell.w_above;
    double peak = 0;
    double total = 0;
#pragma omp simd reduction(max : peak) reduction(+ : total)
    for (int i = 0; i < n; ++i) {
        const double below = std::fabs(w[i]);
        const double above = std::fabs(w_above[i]);
        const double rate =
            std::fabs(u[i]) * a + std::fabs(v[i]) * b + (below > above ? below : above) * c;
        peak = rate > peak ? rate : peak;
        total += rate;
    }
    sum += total;
    return peak;
}

/// Return a term of u or v with the difference of its fluxes through the upper and lower face. One
/// expression for all planes: the terms have the same bits wherever a part begins.
inline double minus_flux(double term, double upper, double lower, double per_height) {
    return term - (upper - lower) * per_height;
}

} // namespace

ConvectionPart::ConvectionPart(const Parameters& p, const ProcessGrid& grid, const WallGrid& wall,
                               Range planes, parallel::SectionMonitor& sections,
                               parallel::Traffic& traffic)
    : wall_(wall), rank_planes_(block(wall.cells(), grid.pz(), grid.column().rank())),
      planes_(planes), slot_sets_(slot_sets(p)),
      overlapped_(slot_sets_ > 1 && p.transposes == Transposes::overlapped),
      transform_(grid, Modes::of(p.nx, p.ny, p.dealiasing),
                 PlaneTransform::batch_for(Modes::of(p.nx, p.ny, p.dealiasing), grid.py()),
                 slots * slot_sets(p), sections, traffic, p.transpose_precision, p.transposes),
      pitch_((transform_.modes().mx + 7) / 8 * 8), per_dx_(2 * transform_.modes().kx / p.lx),
      per_dy_(2 * transform_.modes().ky / p.ly), sections_(sections) {
    const auto plane = static_cast<std::size_t>(pitch_ * transform_.rows().size());
    for (auto* values : {&u_, &v_, &w_, &u_above_, &v_above_, &w_above_})
        *values = AlignedArray<double>(plane);
    scratch_ = AlignedArray<double>(static_cast<std::size_t>(pitch_ * 7 * rows_at_a_time));
    flux_ = AlignedArray<double>(static_cast<std::size_t>(transform_.local_modes()) * 4);
    first_flux_ = AlignedArray<double>(is_at_wall() ? 0 : flux_.size());
    for (int i = transform_.waves().begin; i < transform_.waves().end; ++i)
        kx_.push_back(2 * std::numbers::pi * i / p.lx);
    for (int j = 0; j < transform_.modes().columns_y(); ++j)
        ky_.push_back(2 * std::numbers::pi * transform_.modes().wave_y(j) / p.ly);
}

std::size_t ConvectionPart::bytes() const {
    return transform_.bytes() + 6 * u_.bytes() + scratch_.bytes() + flux_.bytes() +
           first_flux_.bytes();
}

double ConvectionPart::max_rate() const {
    return std::isfinite(rate_sum_) ? max_rate_ : std::numeric_limits<double>::infinity();
}

void ConvectionPart::evaluate(const Velocity& velocity, const Velocity& n, bool measures_rate) {
    measures_rate_ = measures_rate;
    max_rate_ = 0;
    rate_sum_ = 0;
    std::fill_n(flux_.data(), flux_.size(), 0.0);

    // Below the first upper face: u and v of the first cell, w of its lower face.
    const Batch below{-1, 1, 0};
    start(velocity, below);
    end_inverse(below);
    for (int r = 0; r < transform_.rows().size(); ++r) {
        transform_.to_physical(in_u, 0, r, row(u_, r));
        transform_.to_physical(in_v, 0, r, row(v_, r));
        transform_.to_physical(in_w, 0, r, row(w_, r));
    }
    const double row_flops = transform_.row_flops();
    sections_.lap(section::fft, {.flops = 3 * row_flops * transform_.rows().size()});

    const int batches = (planes_.size() + transform_.batch() - 1) / transform_.batch();
    start(velocity, batch(0));
    for (int b = 0; b < batches; ++b) {
        const Batch here = batch(b);
        end_inverse(here);
        if (overlapped_ && b + 1 < batches)
            start(velocity, batch(b + 1));
        for (int plane = 0; plane < here.count; ++plane)
            products(here, plane);
        for (int slot = uu; slot < slots; ++slot)
            transform_.begin_forward(here.first_slot + slot, here.count);
        transform_.publish();
        if (!overlapped_ && b + 1 < batches)
            start(velocity, batch(b + 1));
        if (!overlapped_)
            combine(n, here);
        else if (b > 0)
            combine(n, batch(b - 1));
    }
    if (overlapped_)
        combine(n, batch(batches - 1));
}

ConvectionPart::Batch ConvectionPart::batch(int index) const {
    const int first = index * transform_.batch();
    return {first, std::min(transform_.batch(), planes_.size() - first),
            index % slot_sets_ * slots};
}

void ConvectionPart::start(const Velocity& velocity, const Batch& batch) {
    const int total = rank_planes_.size();
    const auto [start, count, first_slot] = batch;
    const int first = planes_.begin + start;
    // There is no cell above the upper wall, where w and the fluxes are zero.
    const bool top = rank_planes_.end == wall_.cells();
    const Range cells{0, top ? total : total + 1};
    transform_.begin_inverse(first_slot + in_u, velocity.u, first + 1, count, cells);
    transform_.begin_inverse(first_slot + in_v, velocity.v, first + 1, count, cells);
    transform_.begin_inverse(first_slot + in_w, velocity.w, first, count, {-1, total});
    transform_.publish();
}

void ConvectionPart::end_inverse(const Batch& batch) {
    for (const Slot slot : {in_u, in_v, in_w})
        transform_.end_inverse(batch.first_slot + slot);
}

void ConvectionPart::products(const Batch& batch, int plane) {
    const int n = transform_.modes().mx;
    const int global = rank_planes_.begin + planes_.begin + batch.first + plane;
    const double height = wall_.height(global);
    const bool last = global + 1 == wall_.cells();
    const double share = last ? 1.0 : height / (height + wall_.height(global + 1));
    const auto scratch = [&](int r, int product) {
        return scratch_.data() + (std::ptrdiff_t{r} * 7 + product) * pitch_;
    };
    const int rows = transform_.rows().size();
    const double row_flops = transform_.row_flops();
    const double point_flops = multiply_flops + (measures_rate_ ? max_rate_flops : 0);
    int products = 0; // rows transformed back since the last lap: a clock is read twice a pass
    for (int first = 0; first < rows; first += rows_at_a_time) {
        const int end = std::min(rows, first + rows_at_a_time);
        for (int r = first; r < end; ++r) {
            transform_.to_physical(batch.first_slot + in_u, plane, r, row(u_above_, r));
            transform_.to_physical(batch.first_slot + in_v, plane, r, row(v_above_, r));
            transform_.to_physical(batch.first_slot + in_w, plane, r, row(w_above_, r));
        }
        sections_.lap(section::fft, {.flops = row_flops * (3 * (end - first) + 7 * products)});
        for (int r = first; r < end; ++r) {
            const Cell cell{row(u_, r),       row(v_, r),       row(w_, r),
                            row(u_above_, r), row(v_above_, r), row(w_above_, r)};
            if (measures_rate_)
                max_rate_ = std::max(max_rate_,
                                     row_max_rate(n, per_dx_, per_dy_,
                                                  std::numbers::inv_pi / height, cell, rate_sum_));
            multiply(n, share, cell, scratch(r - first, 0), pitch_);
        }
        sections_.lap(section::pointwise, {.flops = point_flops * n * (end - first)});
        for (int r = first; r < end; ++r)
            for (int slot = uu; slot < slots; ++slot)
                transform_.to_spectral(batch.first_slot + slot, batch.count, plane, r,
                                       scratch(r - first, slot - uu));
        products = end - first;
        if (overlapped_) {
            sections_.lap(section::fft, {.flops = row_flops * 7 * products});
            products = 0;
            transform_.progress();
        }
    }
    sections_.lap(section::fft, {.flops = row_flops * 7 * products});
    std::swap(u_, u_above_);
    std::swap(v_, v_above_);
    std::swap(w_, w_above_);
}

void ConvectionPart::combine(const Velocity& n, const Batch& batch) {
    for (int slot = uu; slot < slots; ++slot)
        transform_.end_forward(batch.first_slot + slot);
    for (int plane = 0; plane < batch.count; ++plane) {
        const int k = planes_.begin + batch.first + plane;
        if (batch.first + plane > 0 || is_at_wall()) {
            combine<true>(n, batch.first_slot, plane, k);
        } else {
            combine<false>(n, batch.first_slot, plane, k);
            std::copy_n(flux_.data(), flux_.size(), first_flux_.data());
        }
    }
    sections_.lap(section::pointwise,
                  {.flops = combine_flops * batch.count * transform_.local_modes()});
}

template <bool completes>
void ConvectionPart::combine(const Velocity& n, int first_slot, int plane, int k) {
    const auto& modes = transform_.modes();
    const double scale = 1.0 / (static_cast<double>(modes.mx) * modes.my);
    const double per_height = 1.0 / wall_.height(rank_planes_.begin + k);
    const int waves = transform_.waves().size();
    const double* __restrict kx = kx_.data();
    for (int j = 0; j < modes.columns_y(); ++j) {
        const double* __restrict term[slots];
        for (int slot = uu; slot < slots; ++slot)
            term[slot] =
                reinterpret_cast<const double*>(transform_.column(first_slot + slot, plane, j));
        const std::ptrdiff_t at = std::ptrdiff_t{j} * waves;
        const std::ptrdiff_t size = transform_.local_modes();
        double* __restrict flux_u_re = flux_.data() + at;
        double* __restrict flux_u_im = flux_u_re + size;
        double* __restrict flux_v_re = flux_u_im + size;
        double* __restrict flux_v_im = flux_v_re + size;
        double* __restrict u_re = n.u.re(k) + at;
        double* __restrict u_im = n.u.im(k) + at;
        double* __restrict v_re = n.v.re(k) + at;
        double* __restrict v_im = n.v.im(k) + at;
        double* __restrict w_re = n.w.re(k) + at;
        double* __restrict w_im = n.w.im(k) + at;
        const double ky = ky_[static_cast<std::size_t>(j)];
#pragma omp simd
        for (int i = 0; i < waves; ++i) {
            const double uw_re = scale * term[uw][2 * i], uw_im = scale * term[uw][2 * i + 1];
            const double vw_re = scale * term[vw][2 * i], vw_im = scale * term[vw][2 * i + 1];
            const double a = scale * kx[i];
            const double b = scale * ky;
            u_re[i] = a * term[uu][2 * i + 1] + b * term[uv][2 * i + 1];
            u_im[i] = -a * term[uu][2 * i] - b * term[uv][2 * i];
            v_re[i] = a * term[uv][2 * i + 1] + b * term[vv][2 * i + 1];
            v_im[i] = -a * term[uv][2 * i] - b * term[vv][2 * i];
            if constexpr (completes) {
                u_re[i] = minus_flux(u_re[i], uw_re, flux_u_re[i], per_height);
                u_im[i] = minus_flux(u_im[i], uw_im, flux_u_im[i], per_height);
                v_re[i] = minus_flux(v_re[i], vw_re, flux_v_re[i], per_height);
                v_im[i] = minus_flux(v_im[i], vw_im, flux_v_im[i], per_height);
            }
            w_re[i] = a * term[wu][2 * i + 1] + b * term[wv][2 * i + 1];
            w_im[i] = -a * term[wu][2 * i] - b * term[wv][2 * i];
            flux_u_re[i] = uw_re;
            flux_u_im[i] = uw_im;
            flux_v_re[i] = vw_re;
            flux_v_im[i] = vw_im;
        }
    }
}

void ConvectionPart::add_lower_flux(const Velocity& n, std::span<const double> flux) {
    const int k = planes_.begin;
    const double per_height = 1.0 / wall_.height(rank_planes_.begin + k);
    const std::ptrdiff_t part = std::ssize(flux) / 4;
    const double* __restrict lower = flux.data();
    const double* __restrict upper = first_flux_.data();
    for (double* __restrict out : {n.u.re(k), n.u.im(k), n.v.re(k), n.v.im(k)}) {
        for (std::ptrdiff_t m = 0; m < part; ++m)
            out[m] = minus_flux(out[m], upper[m], lower[m], per_height);
        lower += part;
        upper += part;
    }
    sections_.lap(section::pointwise);
}

} // namespace uzushio::channel
