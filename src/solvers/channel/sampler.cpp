#include "solvers/channel/sampler.hpp"

#include <algorithm>
#include <array>

#include "solvers/channel/chunks.hpp"

namespace uzushio::channel {

using parallel::AlignedArray;
using parallel::Range;

namespace {

/// Moments. Products of u and v with w are at faces. Where the means are subtracted later, the
/// products with the cells below ("lo") and above ("up") the face are separate.
enum Moment {
    mean_u,
    mean_v,
    mean_p,
    uu,
    vv,
    pp,
    www,
    wall_parallel_gradients,
    dw_dz2,
    vorticity_z,
    centre_count,
    ww = centre_count,
    ulo_w,
    uup_w,
    vlo_w,
    vup_w,
    ulo_uup_w,
    vlo_vup_w,
    pw,
    du_dz2,
    dv_dz2,
    w_gradients,
    vorticity_x,
    vorticity_y,
    count
};
constexpr std::array<std::string_view, count> names = {
    "u",     "v",       "p",      "uu",          "vv",         "pp",
    "www",   "grad_uv", "dwdz2",  "vorticity_z", "ww",         "ulo_w",
    "uup_w", "vlo_w",   "vup_w",  "ulo_uup_w",   "vlo_vup_w",  "pw",
    "dudz2", "dvdz2",   "grad_w", "vorticity_x", "vorticity_y"};

/// Accumulator of the moments of one rank's planes.
class Sampler {
  public:
    Sampler(Solver& solver, const std::vector<int>& cells)
        : solver_(solver), cells_(cells), total_(solver.wall().cells()),
          values_(static_cast<std::size_t>(count * (total_ + 1))),
          pw_below_(static_cast<std::size_t>(total_)) {
        const auto& modes = solver.transform().modes();
        spectra_x_.resize(cells.size() * 3 * static_cast<std::size_t>(modes.kx));
        spectra_y_.resize(cells.size() * 3 * static_cast<std::size_t>(modes.ky));
    }

    Samples take() {
        spectral_moments();
        physical_moments();
        for (std::size_t i = 0; i < cells_.size(); ++i)
            spectra(i);
        for (auto* values : {&values_, &spectra_x_, &spectra_y_}) {
            const bool root = solver_.grid().all().rank() == 0;
            MPI_Reduce(root ? MPI_IN_PLACE : values->data(), values->data(),
                       static_cast<int>(values->size()), MPI_DOUBLE, MPI_SUM, 0,
                       solver_.grid().all().get());
        }
        Samples out{{}, std::move(spectra_x_), std::move(spectra_y_)};
        for (int moment = 0; moment < count; ++moment) {
            const bool faces = moment >= centre_count;
            const double* first = &at(moment, 0);
            out.profiles.push_back({names[static_cast<std::size_t>(moment)],
                                    faces,
                                    {first, first + total_ + (faces ? 1 : 0)}});
        }
        return out;
    }

  private:
    /// Return the value of a moment in cell k, or at the face below cell k.
    double& at(int moment, int k) {
        return values_[static_cast<std::size_t>(moment * (total_ + 1) + k)];
    }

    /// Return the mean over a plane of a product from its value per mode, by Parseval's theorem.
    template <class F> double parseval(F&& value) {
        double sum = 0;
        for (int m = 0; m < solver_.transform().local_modes(); ++m)
            sum += solver_.weight(m) * value(m);
        return sum;
    }

    void spectral_moments() {
        const auto [u, v, w] = solver_.velocity();
        const auto& kx = solver_.kx();
        const auto& ky = solver_.ky();
        const auto& wall = solver_.wall();
        const auto planes = solver_.planes();
        const auto square = [](double re, double im) { return re * re + im * im; };
        const bool mean = solver_.grid().plane().rank() == 0;
        for_chunks(solver_.parameters().threads, planes.size(), 1, [&](int, Range plane) {
            const int k = plane.begin;
            const int cell = planes.begin + k;
            const double height = wall.height(cell);
            if (mean) {
                at(mean_u, cell) = u.re(k)[0];
                at(mean_v, cell) = v.re(k)[0];
            }
            at(wall_parallel_gradients, cell) = parseval([&](int m) {
                const auto i = static_cast<std::size_t>(m);
                return (kx[i] * kx[i] + ky[i] * ky[i]) *
                       (square(u.re(k)[m], u.im(k)[m]) + square(v.re(k)[m], v.im(k)[m]));
            });
            at(dw_dz2, cell) = parseval([&](int m) {
                return square(w.re(k)[m] - w.re(k - 1)[m], w.im(k)[m] - w.im(k - 1)[m]) /
                       (height * height);
            });
            at(vorticity_z, cell) = parseval([&](int m) {
                const auto i = static_cast<std::size_t>(m);
                return square(kx[i] * v.re(k)[m] - ky[i] * u.re(k)[m],
                              kx[i] * v.im(k)[m] - ky[i] * u.im(k)[m]);
            });
            face_gradients(k);
            if (cell == 0)
                face_gradients(-1);
        });
    }

    /// Moments of first derivatives at the upper face of cell k of this rank; k = -1 is the wall.
    void face_gradients(int k) {
        const auto [u, v, w] = solver_.velocity();
        const auto& kx = solver_.kx();
        const auto& ky = solver_.ky();
        const int face = solver_.planes().begin + k;
        const bool top = face + 1 == total_;
        const double per_distance = 1.0 / solver_.wall().distance(face);
        const auto slope = [&](const Planes& f, bool imaginary, int m) {
            const double below = face < 0 ? 0.0 : (imaginary ? f.im(k) : f.re(k))[m];
            const double above = top ? 0.0 : (imaginary ? f.im(k + 1) : f.re(k + 1))[m];
            return (above - below) * per_distance;
        };
        double du = 0, dv = 0, gradients = 0, x = 0, y = 0;
        for (int m = 0; m < solver_.transform().local_modes(); ++m) {
            const auto i = static_cast<std::size_t>(m);
            const double u_re = slope(u, false, m), u_im = slope(u, true, m);
            const double v_re = slope(v, false, m), v_im = slope(v, true, m);
            const double w_re = w.re(k)[m], w_im = w.im(k)[m];
            const double weight = solver_.weight(m);
            du += weight * (u_re * u_re + u_im * u_im);
            dv += weight * (v_re * v_re + v_im * v_im);
            gradients += weight * (kx[i] * kx[i] + ky[i] * ky[i]) * (w_re * w_re + w_im * w_im);
            // i k w has the real part -k Im w and the imaginary part k Re w.
            const double x_re = -ky[i] * w_im - v_re, x_im = ky[i] * w_re - v_im;
            const double y_re = u_re + kx[i] * w_im, y_im = u_im - kx[i] * w_re;
            x += weight * (x_re * x_re + x_im * x_im);
            y += weight * (y_re * y_re + y_im * y_im);
        }
        at(du_dz2, face + 1) = du;
        at(dv_dz2, face + 1) = dv;
        at(w_gradients, face + 1) = gradients;
        at(vorticity_x, face + 1) = x;
        at(vorticity_y, face + 1) = y;
    }

    /// Compute the moments of products in one pass in physical space over cells, each with the next
    /// cell and its two faces.
    void physical_moments() {
        const auto velocity = solver_.velocity();
        const std::array<Planes, 4> fields = {velocity.u, velocity.v, solver_.pressure(),
                                              velocity.w};
        const int planes = solver_.planes().size();
        const bool top = solver_.planes().end == total_;
        solver_.on_parts([&](PlaneTransform& transform, Range mine) {
            const std::ptrdiff_t pitch = (transform.modes().mx + 7) / 8 * 8;
            const auto size = static_cast<std::size_t>(pitch * transform.rows().size());
            std::array<AlignedArray<double>, 8> physical;
            for (auto& values : physical)
                values = AlignedArray<double>(size);
            for (int k = mine.begin - 1; k < mine.end; ++k) {
                for (int f = 0; f < 4; ++f) {
                    const bool face = f == 3;
                    transform.begin_inverse(f, fields[static_cast<std::size_t>(f)],
                                            face ? k : k + 1, 1,
                                            {face ? -1 : 0, face || top ? planes : planes + 1});
                }
                for (int f = 0; f < 4; ++f) {
                    transform.end_inverse(f);
                    for (int r = 0; r < transform.rows().size(); ++r)
                        transform.to_physical(
                            f, 0, r, physical[static_cast<std::size_t>(f + 4)].data() + r * pitch);
                }
                if (k >= mine.begin)
                    accumulate(transform, k, physical, pitch);
                for (std::size_t f = 0; f < 4; ++f)
                    std::swap(physical[f], physical[f + 4]);
            }
        });
        for (int k = 0; k < planes; ++k) // also at faces that another thread has
            at(pw, solver_.planes().begin + k) += pw_below_[static_cast<std::size_t>(k)];
    }

    void accumulate(const PlaneTransform& transform, int k,
                    std::array<AlignedArray<double>, 8>& physical, std::ptrdiff_t pitch) {
        const auto& modes = transform.modes();
        std::array<double, count> sums{};
        double pressure_below = 0;
        for (int r = 0; r < transform.rows().size(); ++r) {
            const auto row = [&](std::size_t f) { return physical[f].data() + r * pitch; };
            const double *u = row(0), *v = row(1), *p = row(2), *w = row(3);
            const double *u_up = row(4), *v_up = row(5), *w_up = row(7);
            for (int i = 0; i < modes.mx; ++i) {
                const double centre = 0.5 * (w[i] + w_up[i]);
                const double pressure = p[i] - centre * centre;
                sums[uu] += u[i] * u[i];
                sums[vv] += v[i] * v[i];
                sums[mean_p] += pressure;
                sums[pp] += pressure * pressure;
                sums[www] += centre * w[i] * w_up[i];
                sums[ww] += w_up[i] * w_up[i];
                sums[ulo_w] += u[i] * w_up[i];
                sums[uup_w] += u_up[i] * w_up[i];
                sums[vlo_w] += v[i] * w_up[i];
                sums[vup_w] += v_up[i] * w_up[i];
                sums[ulo_uup_w] += u[i] * u_up[i] * w_up[i];
                sums[vlo_vup_w] += v[i] * v_up[i] * w_up[i];
                sums[pw] += 0.5 * pressure * w_up[i];
                pressure_below += 0.5 * pressure * w[i];
            }
        }
        const double mean = 1.0 / (static_cast<double>(modes.mx) * modes.my);
        const int cell = solver_.planes().begin + k;
        for (const int moment : {uu, vv, mean_p, pp, www})
            at(moment, cell) = mean * sums[static_cast<std::size_t>(moment)];
        for (const int moment : {ww, ulo_w, uup_w, vlo_w, vup_w, ulo_uup_w, vlo_vup_w, pw})
            at(moment, cell + 1) += mean * sums[static_cast<std::size_t>(moment)];
        pw_below_[static_cast<std::size_t>(k)] = mean * pressure_below;
    }

    /// Compute the energy spectra of u, v and the mean of w at the two faces, in one requested
    /// cell.
    void spectra(std::size_t index) {
        const int k = cells_[index] - solver_.planes().begin;
        if (k < 0 || k >= solver_.planes().size())
            return;
        const auto& transform = solver_.transform();
        const auto& modes = transform.modes();
        const auto [u, v, w] = solver_.velocity();
        const int waves = transform.waves().size();
        for (int m = 0; m < transform.local_modes(); ++m) {
            const double w_re = 0.5 * (w.re(k)[m] + w.re(k - 1)[m]);
            const double w_im = 0.5 * (w.im(k)[m] + w.im(k - 1)[m]);
            const std::array<double, 3> energy = {u.re(k)[m] * u.re(k)[m] + u.im(k)[m] * u.im(k)[m],
                                                  v.re(k)[m] * v.re(k)[m] + v.im(k)[m] * v.im(k)[m],
                                                  w_re * w_re + w_im * w_im};
            const auto i = static_cast<std::size_t>(transform.waves().begin + m % waves);
            const auto j = static_cast<std::size_t>(std::abs(modes.wave_y(m / waves)));
            if (i == 0 && j == 0)
                continue; // the mean flow
            for (std::size_t c = 0; c < 3; ++c) {
                const double share = solver_.weight(m) * energy[c];
                spectra_x_[(index * 3 + c) * static_cast<std::size_t>(modes.kx) + i] += share;
                spectra_y_[(index * 3 + c) * static_cast<std::size_t>(modes.ky) + j] += share;
            }
        }
    }

    Solver& solver_;
    const std::vector<int>& cells_;
    int total_;
    std::vector<double> values_, spectra_x_, spectra_y_;
    std::vector<double> pw_below_; ///< of each plane of this rank: its part at the face below
};

} // namespace

Samples sample(Solver& solver, const std::vector<int>& cells) {
    const auto counters = solver.traffic(); // they count steps only
    auto samples = Sampler(solver, cells).take();
    solver.traffic() = counters;
    return samples;
}

} // namespace uzushio::channel
