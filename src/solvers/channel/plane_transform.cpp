#include "solvers/channel/plane_transform.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>
#include <stdexcept>

namespace uzushio::channel {

using linalg::fftw_cast;
using parallel::block;
using parallel::Exchange;
using parallel::Range;
namespace section = parallel::section;

namespace {

constexpr unsigned planner = FFTW_MEASURE | FFTW_DESTROY_INPUT;

} // namespace

PlaneTransform::PlaneTransform(const ProcessGrid& grid, const Modes& modes, int batch, int slots,
                               parallel::SectionMonitor& sections, parallel::Traffic& traffic)
    : all_(grid.all()), plane_(grid.plane()), modes_(modes), batch_(grid.py() > 1 ? batch : 1),
      rows_(block(modes.my, grid.py(), plane_.rank())),
      waves_(block(modes.kx, grid.py(), plane_.rank())), slots_(static_cast<std::size_t>(slots)),
      row_flops_(2.5 * modes.mx * std::log2(modes.mx)),
      column_flops_(5.0 * modes.my * std::log2(modes.my)), sections_(sections), traffic_(traffic) {
    if (grid.py() > std::min(modes.kx, modes.my))
        throw std::invalid_argument("more ranks share a plane than it has modes or rows");
    const auto batches = static_cast<std::size_t>(batch_);
    const auto y_size = static_cast<std::size_t>(modes_.my) *
                        (shared() ? batches * static_cast<std::size_t>(waves_.size())
                                  : static_cast<std::size_t>(pitch()));
    row_ = parallel::AlignedArray<Complex>(static_cast<std::size_t>(modes_.mx / 2 + 1));
    for (auto& slot : slots_) {
        slot.y = parallel::AlignedArray<Complex>(y_size);
        if (shared())
            slot.x = parallel::AlignedArray<Complex>(static_cast<std::size_t>(rows_.size()) *
                                                     batches * static_cast<std::size_t>(modes_.kx));
    }
    for (int r = 0; r < plane_.size(); ++r)
        blocks_.push_back(block(modes_.kx, plane_.size(), r));
    for (int count = 1; shared() && count <= batch_; ++count)
        counts_.push_back(counts_for(count));
    replan();
}

std::size_t PlaneTransform::bytes() const {
    std::size_t sum = row_.bytes();
    for (const auto& slot : slots_)
        sum += slot.x.bytes() + slot.y.bytes();
    return sum;
}

int PlaneTransform::batch_for(const Modes& modes, int py) {
    if (py == 1)
        return 1;
    constexpr double target = 128 * 1024;
    const double message = 16.0 * modes.kx * modes.my / py / py;
    // An odd size: the distance of the rows of a batch is no power of two (cache sets).
    return std::clamp(static_cast<int>(target / message), 1, 8) | 1;
}

void PlaneTransform::replan() {
    // Rank 0 measures plans for each size of block. The other ranks take their plans from its
    // wisdom, so that all ranks, and a restart that imports it, have the same rounding.
    std::vector<Plan> backward, forward;
    for (const bool measures : {true, false}) {
        if (measures == (all_.rank() == 0)) {
            std::set<int> sizes;
            for (int r = 0; r < plane_.size(); ++r)
                sizes.insert(block(modes_.kx, plane_.size(), r).size());
            sizes.erase(waves_.size());
            if (measures)
                for (const int size : sizes)
                    plan_columns(size, backward, forward);
            plan_columns(waves_.size(), backward_, forward_);
        }
        if (measures)
            linalg::share_wisdom(all_);
    }
    sections_.mark();
}

void PlaneTransform::plan_columns(int waves, std::vector<Plan>& backward,
                                  std::vector<Plan>& forward) {
    const auto size =
        static_cast<std::size_t>(modes_.my) *
        std::max(static_cast<std::size_t>(pitch()), static_cast<std::size_t>(batch_ * waves));
    parallel::AlignedArray<Complex> scratch(size);
    parallel::AlignedArray<double> row(static_cast<std::size_t>(modes_.mx) + 8);
    backward.clear();
    forward.clear();
    const int n[1] = {modes_.my};
    fftw_complex* y = fftw_cast(scratch.data());
    for (int count = 1; count <= batch_; ++count) {
        const int many = shared() ? count * waves : waves;
        const int stride = shared() ? many : static_cast<int>(pitch());
        for (const int sign : {FFTW_BACKWARD, FFTW_FORWARD})
            (sign == FFTW_BACKWARD ? backward : forward)
                .emplace_back(fftw_plan_many_dft(1, n, many, y, nullptr, stride, 1, y, nullptr,
                                                 stride, 1, sign, planner));
    }
    to_physical_.reset(fftw_plan_dft_c2r_1d(modes_.mx, y, row.data(), planner));
    to_spectral_.reset(fftw_plan_dft_r2c_1d(modes_.mx, row.data(), y, planner));
    const auto missing = [](const std::vector<Plan>& plans) {
        return std::any_of(plans.begin(), plans.end(), [](const Plan& plan) { return !plan; });
    };
    if (!to_physical_ || !to_spectral_ || missing(backward) || missing(forward))
        throw std::runtime_error("FFTW returned no plan for " + std::to_string(modes_.mx) + " x " +
                                 std::to_string(modes_.my) + " points");
}

template <class F>
void PlaneTransform::for_each_part(Slot& slot, int count, int plane, int row, F&& part) {
    if (!shared()) {
        part(slot.y.data() + row * pitch(), waves_);
        return;
    }
    const std::ptrdiff_t line = std::ptrdiff_t{row} * count + plane;
    const std::ptrdiff_t lines = std::ptrdiff_t{rows_.size()} * count;
    for (const auto waves : blocks_)
        part(slot.x.data() + lines * waves.begin + line * waves.size(), waves);
}

PlaneTransform::AllToAllCounts PlaneTransform::counts_for(int count) const {
    AllToAllCounts all;
    int x = 0;
    int y = 0;
    for (int r = 0; r < plane_.size(); ++r) {
        const int doubles = 2 * count;
        all.x_counts.push_back(doubles * rows_.size() *
                               blocks_[static_cast<std::size_t>(r)].size());
        all.y_counts.push_back(doubles * waves_.size() * block(modes_.my, plane_.size(), r).size());
        all.x_offsets.push_back(x);
        all.y_offsets.push_back(y);
        x += all.x_counts.back();
        y += all.y_counts.back();
    }
    return all;
}

void PlaneTransform::begin_inverse(int index, const Planes& field, int first, int count,
                                   Range available) {
    assert(count >= 1 && count <= batch_);
    auto& slot = slots_[static_cast<std::size_t>(index)];
    slot.count = count;
    const auto stride = y_stride(count);
    const int waves = waves_.size();
    const auto width = static_cast<std::size_t>(waves);
    for (int row = 0; row < modes_.my; ++row) {
        const int j = row < modes_.ky ? row : row - modes_.my + modes_.columns_y();
        const bool kept = row < modes_.ky || j >= modes_.ky;
        Complex* out = slot.y.data() + row * stride;
        for (int b = 0; b < count; ++b, out += waves) {
            const int k = first + b;
            if (!kept || k < available.begin || k >= available.end) {
                std::fill_n(out, width, Complex{});
                continue;
            }
            const double* re = field.re(k) + std::ptrdiff_t{j} * waves;
            const double* im = field.im(k) + std::ptrdiff_t{j} * waves;
            auto* pair = reinterpret_cast<double*>(out);
            for (int i = 0; i < waves; ++i) {
                pair[2 * i] = re[i];
                pair[2 * i + 1] = im[i];
            }
        }
    }
    sections_.lap(section::pointwise);
    fftw_complex* y = fftw_cast(slot.y.data());
    fftw_execute_dft(backward_[static_cast<std::size_t>(shared() ? count - 1 : 0)].get(), y, y);
    sections_.lap(section::fft, {.flops = column_flops_ * count * waves});
    if (!shared())
        return;
    const auto& counts = counts_[static_cast<std::size_t>(count - 1)];
    MPI_Ialltoallv(slot.y.data(), counts.y_counts.data(), counts.y_offsets.data(), MPI_DOUBLE,
                   slot.x.data(), counts.x_counts.data(), counts.x_offsets.data(), MPI_DOUBLE,
                   plane_.get(), &slot.request);
    const auto own = static_cast<std::size_t>(plane_.rank());
    traffic_.add(Exchange::transpose_xy, plane_.size() - 1,
                 8LL * (2LL * count * waves * modes_.my - counts.y_counts[own]));
    sections_.lap(section::transpose);
}

void PlaneTransform::end_inverse(int index) {
    if (!shared())
        return;
    MPI_Wait(&slots_[static_cast<std::size_t>(index)].request, MPI_STATUS_IGNORE);
    sections_.lap(section::transpose);
}

void PlaneTransform::to_physical(int index, int plane, int row, double* values) {
    auto& slot = slots_[static_cast<std::size_t>(index)];
    for_each_part(slot, slot.count, plane, row, [&](const Complex* part, Range waves) {
        std::copy_n(part, waves.size(), row_.data() + waves.begin);
    });
    // The transform has overwritten its input.
    std::fill(row_.data() + modes_.kx, row_.data() + row_.size(), Complex{});
    fftw_execute_dft_c2r(to_physical_.get(), fftw_cast(row_.data()), values);
}

void PlaneTransform::to_spectral(int index, int count, int plane, int row, double* values) {
    fftw_execute_dft_r2c(to_spectral_.get(), values, fftw_cast(row_.data()));
    auto& slot = slots_[static_cast<std::size_t>(index)];
    for_each_part(slot, count, plane, row, [&](Complex* part, Range waves) {
        std::copy_n(row_.data() + waves.begin, waves.size(), part);
    });
}

void PlaneTransform::begin_forward(int index, int count) {
    auto& slot = slots_[static_cast<std::size_t>(index)];
    slot.count = count;
    if (!shared())
        return;
    const auto& counts = counts_[static_cast<std::size_t>(count - 1)];
    MPI_Ialltoallv(slot.x.data(), counts.x_counts.data(), counts.x_offsets.data(), MPI_DOUBLE,
                   slot.y.data(), counts.y_counts.data(), counts.y_offsets.data(), MPI_DOUBLE,
                   plane_.get(), &slot.request);
    const auto own = static_cast<std::size_t>(plane_.rank());
    traffic_.add(Exchange::transpose_xy, plane_.size() - 1,
                 8LL * (2LL * count * rows_.size() * modes_.kx - counts.x_counts[own]));
    sections_.lap(section::transpose);
}

void PlaneTransform::end_forward(int index) {
    auto& slot = slots_[static_cast<std::size_t>(index)];
    if (shared()) {
        MPI_Wait(&slot.request, MPI_STATUS_IGNORE);
        sections_.lap(section::transpose);
    }
    fftw_complex* y = fftw_cast(slot.y.data());
    fftw_execute_dft(forward_[static_cast<std::size_t>(shared() ? slot.count - 1 : 0)].get(), y, y);
    sections_.lap(section::fft, {.flops = column_flops_ * slot.count * waves_.size()});
}

const Complex* PlaneTransform::column(int index, int plane, int j) const {
    const auto& slot = slots_[static_cast<std::size_t>(index)];
    return slot.y.data() + modes_.row(j) * y_stride(slot.count) +
           (shared() ? std::ptrdiff_t{plane} * waves_.size() : 0);
}

} // namespace uzushio::channel
