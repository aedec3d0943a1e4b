// Global quantities of the present fields, equal on all ranks.
#include <cmath>

#include "solvers/channel/solver.hpp"

namespace uzushio::channel {

double Solver::sum(double local) {
    MPI_Allreduce(MPI_IN_PLACE, &local, 1, MPI_DOUBLE, MPI_SUM, grid_.all().get());
    return local;
}

double Solver::bulk_velocity() {
    double local = 0;
    for (int k = 0; holds_mean() && k < planes_.size(); ++k)
        local += 0.5 * wall_.height(planes_.begin + k) * velocity_.u.re(k)[0];
    return sum(local);
}

double Solver::wall_shear() {
    double local = 0;
    const int top = wall_.cells() - 1;
    if (holds_mean() && planes_.begin == 0)
        local += velocity_.u.re(0)[0] / wall_.distance(-1);
    if (holds_mean() && planes_.end == top + 1)
        local += velocity_.u.re(planes_.size() - 1)[0] / wall_.distance(top);
    return 0.5 * parameters_.viscosity * sum(local);
}

double Solver::power(const Planes& a, const Planes& b, int k) const {
    double total = 0;
    for (int m = 0; m < modes_; ++m)
        total += weight(m) * (a.re(k)[m] * b.re(k)[m] + a.im(k)[m] * b.im(k)[m]);
    return total;
}

double Solver::kinetic_energy() {
    double local = 0;
    for (int k = 0; k < planes_.size(); ++k) {
        const int global = planes_.begin + k;
        const bool wall = global + 1 == wall_.cells();
        local += 0.25 * wall_.height(global) *
                 (power(velocity_.u, velocity_.u, k) + power(velocity_.v, velocity_.v, k));
        local += wall ? 0.0 : 0.25 * wall_.distance(global) * power(velocity_.w, velocity_.w, k);
    }
    return sum(local);
}

double Solver::divergence() {
    const Planes up[] = {velocity_.w};
    halo_.exchange(up, {});
    double local = 0;
    for (int k = 0; k < planes_.size(); ++k) {
        const double height = wall_.height(planes_.begin + k);
        for (int m = 0; m < modes_; ++m) {
            const auto i = static_cast<std::size_t>(m);
            const double re = -kx_[i] * velocity_.u.im(k)[m] - ky_[i] * velocity_.v.im(k)[m] +
                              (velocity_.w.re(k)[m] - velocity_.w.re(k - 1)[m]) / height;
            const double im = kx_[i] * velocity_.u.re(k)[m] + ky_[i] * velocity_.v.re(k)[m] +
                              (velocity_.w.im(k)[m] - velocity_.w.im(k - 1)[m]) / height;
            local += 0.5 * height * weight(m) * (re * re + im * im);
        }
    }
    return std::sqrt(sum(local));
}

std::pair<double, double> Solver::convective_power() {
    convection_.evaluate(velocity_, terms_);
    double total = 0;
    double parts = 0;
    for (int k = 0; k < planes_.size(); ++k) {
        const int global = planes_.begin + k;
        const double face = global + 1 == wall_.cells() ? 0.0 : wall_.distance(global);
        for (const double part : {0.5 * wall_.height(global) * power(velocity_.u, terms_.u, k),
                                  0.5 * wall_.height(global) * power(velocity_.v, terms_.v, k),
                                  0.5 * face * power(velocity_.w, terms_.w, k)}) {
            total += part;
            parts += std::fabs(part);
        }
    }
    return {sum(total), sum(parts)};
}

} // namespace uzushio::channel
