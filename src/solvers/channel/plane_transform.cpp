#include "solvers/channel/plane_transform.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "solvers/channel/single_values.hpp"

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
                               parallel::SectionMonitor& sections, parallel::Traffic& traffic,
                               SentPrecision precision, Transposes transposes)
    : all_(grid.all()), plane_(grid.plane()), turn_(grid.turn()), modes_(modes),
      precision_(precision), batch_(grid.py() > 1 ? batch : 1),
      rows_(block(modes.my, grid.py(), plane_.rank())),
      waves_(block(modes.kx, grid.py(), plane_.rank())), slots_(static_cast<std::size_t>(slots)),
      requests_(slots_.size(), MPI_REQUEST_NULL), completed_(slots_.size()),
      row_flops_(2.5 * modes.mx * std::log2(modes.mx)),
      column_flops_(5.0 * modes.my * std::log2(modes.my)), sections_(sections), traffic_(traffic) {
    if (grid.py() > std::min(modes.kx, modes.my))
        throw std::invalid_argument("more ranks share a plane than it has modes or rows");
    if (transposes == Transposes::shared_memory && shared())
        share_memory();
    const std::size_t size = y_size(plane_.rank());
    row_ = parallel::AlignedArray<Complex>(static_cast<std::size_t>(modes_.mx / 2 + 1));
    for (std::size_t at = 0; at < slots_.size(); ++at) {
        auto& slot = slots_[at];
        const std::size_t x_size = static_cast<std::size_t>(rows_.size()) *
                                   static_cast<std::size_t>(batch_) *
                                   static_cast<std::size_t>(modes_.kx);
        if (sends() && single())
            slot.single_x = parallel::AlignedArray<SingleComplex>(x_size);
        else if (sends())
            slot.x = parallel::AlignedArray<Complex>(x_size);
        if (!memory_)
            slot.own_y = parallel::AlignedArray<Complex>(size);
        slot.y = memory_ ? shared_y(plane_.rank(), at) : slot.own_y.data();
    }
    for (int r = 0; r < plane_.size(); ++r)
        blocks_.push_back(block(modes_.kx, plane_.size(), r));
    for (int count = 1; sends() && count <= batch_; ++count)
        counts_.push_back(counts_for(count));
    replan();
}

void PlaneTransform::share_memory() {
    const int batch = std::exchange(batch_, batch_if_shared);
    memory_.emplace(plane_, slots_.size() * y_size(plane_.rank()) * sizeof(Complex));
    int complete = memory_->is_complete() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &complete, 1, MPI_INT, MPI_MIN, all_.get());
    if (complete != 0)
        return;
    memory_.reset();
    batch_ = batch;
}

std::size_t PlaneTransform::y_size(int rank) const {
    constexpr std::size_t line = 64 / sizeof(Complex);
    const auto waves = block(modes_.kx, plane_.size(), rank).size();
    const auto row = shared() ? std::ptrdiff_t{batch_} * waves : pitch();
    return (static_cast<std::size_t>(modes_.my * row) + line - 1) / line * line;
}

Complex* PlaneTransform::shared_y(int rank, std::size_t slot) const {
    return reinterpret_cast<Complex*>(memory_->of(rank)) + slot * y_size(rank);
}

std::size_t PlaneTransform::bytes() const {
    std::size_t sum = row_.bytes();
    for (const auto& slot : slots_)
        sum += slot.x.bytes() + slot.single_x.bytes() + y_size(plane_.rank()) * sizeof(Complex);
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
        part(slot.y + row * pitch(), waves_);
        return;
    }
    if (memory_) {
        const auto index = static_cast<std::size_t>(&slot - slots_.data());
        const std::ptrdiff_t line = std::ptrdiff_t{rows_.begin + row} * count + plane;
        for (int r = 0; r < plane_.size(); ++r) {
            const Range waves = blocks_[static_cast<std::size_t>(r)];
            part(shared_y(r, index) + line * waves.size(), waves);
        }
        return;
    }
    const std::ptrdiff_t line = std::ptrdiff_t{row} * count + plane;
    const std::ptrdiff_t lines = std::ptrdiff_t{rows_.size()} * count;
    for (const auto waves : blocks_) {
        const std::ptrdiff_t at = lines * waves.begin + line * waves.size();
        if (single())
            part(slot.single_x.data() + at, waves);
        else
            part(slot.x.data() + at, waves);
    }
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
    reclaim(slot);
    slot.count = count;
    const auto stride = y_stride(count);
    const int waves = waves_.size();
    const auto width = static_cast<std::size_t>(waves);
    for (int row = 0; row < modes_.my; ++row) {
        const int j = row < modes_.ky ? row : row - modes_.my + modes_.columns_y();
        const bool kept = row < modes_.ky || j >= modes_.ky;
        Complex* out = slot.y + row * stride;
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
    fftw_complex* y = fftw_cast(slot.y);
    fftw_execute_dft(backward_[static_cast<std::size_t>(shared() ? count - 1 : 0)].get(), y, y);
    sections_.lap(section::fft, {.flops = column_flops_ * count * waves});
    if (!shared())
        return;
    if (sends() && single()) {
        pack_single(reinterpret_cast<double*>(slot.y), y_values(slot));
        sections_.lap(section::pointwise);
    }
    begin_exchange(index, true);
}

void PlaneTransform::begin_exchange(int index, bool to_physical_side) {
    const auto at = static_cast<std::size_t>(index);
    Slot& slot = slots_[at];
    const int rows = rows_.size();
    const int waves = waves_.size();
    const std::int64_t others =
        std::int64_t{slot.count} * (to_physical_side ? std::int64_t{waves} * (modes_.my - rows)
                                                     : std::int64_t{rows} * (modes_.kx - waves));
    if (sends())
        flight_time_.run([&] {
            turn_.call([&] { send(at, to_physical_side); });
            return ++in_flight_ > 0;
        });
    else
        slot.ready = last_point_ + 1;
    const auto value = sends() ? sent_bytes(precision_) : sent_bytes(SentPrecision::full);
    traffic_.add(Exchange::transpose_xy, sends() ? plane_.size() - 1 : 0, others * value);
    sections_.lap(section::transpose);
}

void PlaneTransform::send(std::size_t at, bool to_physical_side) {
    Slot& slot = slots_[at];
    const auto& counts = counts_[static_cast<std::size_t>(slot.count - 1)];
    void* x = slot.x.data();
    void* y = slot.y;
    if (single()) {
        x = slot.single_x.data();
        if (!to_physical_side) // values arrive in the second half, where they are converted
            y = reinterpret_cast<float*>(slot.y) + y_values(slot);
    }
    const MPI_Datatype type = single() ? MPI_FLOAT : MPI_DOUBLE;
    if (to_physical_side)
        MPI_Ialltoallv(y, counts.y_counts.data(), counts.y_offsets.data(), type, x,
                       counts.x_counts.data(), counts.x_offsets.data(), type, plane_.get(),
                       &requests_[at]);
    else
        MPI_Ialltoallv(x, counts.x_counts.data(), counts.x_offsets.data(), type, y,
                       counts.y_counts.data(), counts.y_offsets.data(), type, plane_.get(),
                       &requests_[at]);
}

void PlaneTransform::end_exchange(int index) {
    const auto at = static_cast<std::size_t>(index);
    if (memory_) {
        Slot& slot = slots_[at];
        if (slot.ready > last_point_)
            publish();
        flight_time_.run([&] {
            memory_->wait(slot.ready);
            return slot.ready < last_point_;
        });
        slot.read_at = last_point_;
    } else if (requests_[at] != MPI_REQUEST_NULL) { // not completed in progress()
        flight_time_.run([&] {
            turn_.wait(requests_[at]);
            return --in_flight_ > 0;
        });
    }
    sections_.lap(section::transpose);
}

void PlaneTransform::reclaim(Slot& slot) {
    if (slot.read_at == 0)
        return;
    if (slot.read_at == last_point_)
        publish();
    flight_time_.run([&] {
        memory_->wait(slot.read_at + 1);
        return slot.read_at + 1 < last_point_;
    });
    slot.read_at = 0;
    sections_.lap(section::transpose);
}

void PlaneTransform::publish() {
    if (!memory_)
        return;
    flight_time_.run([&] {
        last_point_ = memory_->arrive();
        return true;
    });
    sections_.lap(section::transpose);
}

void PlaneTransform::progress() {
    if (in_flight_ == 0)
        return;
    flight_time_.run([&] {
        int completed = 0;
        turn_.call([&] {
            MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &completed,
                         completed_.data(), MPI_STATUSES_IGNORE);
        });
        return (in_flight_ -= completed) > 0;
    });
    sections_.lap(section::transpose);
}

void PlaneTransform::end_inverse(int index) {
    if (shared())
        end_exchange(index);
}

void PlaneTransform::to_physical(int index, int plane, int row, double* values) {
    auto& slot = slots_[static_cast<std::size_t>(index)];
    for_each_part(slot, slot.count, plane, row, [&](const auto* part, Range waves) {
        copy_values(part, waves.size(), row_.data() + waves.begin, single());
    });
    // The transform has overwritten its input.
    std::fill(row_.data() + modes_.kx, row_.data() + row_.size(), Complex{});
    fftw_execute_dft_c2r(to_physical_.get(), fftw_cast(row_.data()), values);
}

void PlaneTransform::to_spectral(int index, int count, int plane, int row, double* values) {
    fftw_execute_dft_r2c(to_spectral_.get(), values, fftw_cast(row_.data()));
    auto& slot = slots_[static_cast<std::size_t>(index)];
    reclaim(slot);
    for_each_part(slot, count, plane, row, [&](auto* part, Range waves) {
        copy_values(row_.data() + waves.begin, waves.size(), part, single());
    });
}

void PlaneTransform::begin_forward(int index, int count) {
    auto& slot = slots_[static_cast<std::size_t>(index)];
    slot.count = count;
    if (shared())
        begin_exchange(index, false);
}

void PlaneTransform::end_forward(int index) {
    auto& slot = slots_[static_cast<std::size_t>(index)];
    if (shared()) {
        end_exchange(index);
        if (sends() && single()) {
            unpack_single(reinterpret_cast<double*>(slot.y), y_values(slot));
            sections_.lap(section::pointwise);
        }
    }
    fftw_complex* y = fftw_cast(slot.y);
    fftw_execute_dft(forward_[static_cast<std::size_t>(shared() ? slot.count - 1 : 0)].get(), y, y);
    sections_.lap(section::fft, {.flops = column_flops_ * slot.count * waves_.size()});
}

const Complex* PlaneTransform::column(int index, int plane, int j) const {
    const auto& slot = slots_[static_cast<std::size_t>(index)];
    return slot.y + modes_.row(j) * y_stride(slot.count) +
           (shared() ? std::ptrdiff_t{plane} * waves_.size() : 0);
}

} // namespace uzushio::channel
