#include "solvers/phasefield/observations.hpp"

namespace uzushio::phasefield {

namespace {

/// Return the layers with consecutive halos of `size` values. An exchange writes only to halos.
std::vector<HaloField<double>> layers_of(const LayeredRows& layers, std::size_t count,
                                         double* halos, std::size_t size) {
    std::vector<HaloField<double>> fields(count);
    for (std::size_t i = 0; i < count; ++i)
        fields[i] = {const_cast<double*>(layers.data) +
                         static_cast<std::ptrdiff_t>(i) * layers.stride,
                     layers.pitch, halos + i * size};
    return fields;
}

} // namespace

Observations::Observations(const TileHalo& halo, std::vector<int> steps, LayeredRows values,
                           LayeredRows weights, double weight, double huber)
    : halo_(&halo), index_of_(steps.empty() ? 0 : static_cast<std::size_t>(steps.back()) + 1, -1),
      values_(values), weights_(weights), weight_(weight), huber_(huber) {
    for (std::size_t i = 0; i < steps.size(); ++i)
        index_of_[static_cast<std::size_t>(steps[i])] = static_cast<int>(i);
    if (halo.width() == 0)
        return;
    value_halos_.resize(steps.size() * halo.size());
    halo.exchange(layers_of(values, steps.size(), value_halos_.data(), halo.size()));
    if (!uniform()) {
        const std::size_t count = weights.stride == 0 ? 1 : steps.size();
        weight_halos_.resize(count * halo.size());
        halo.exchange(layers_of(weights, count, weight_halos_.data(), halo.size()));
    }
}

HaloField<const double> Observations::values(int index) const {
    return {values_.data + index * values_.stride, values_.pitch,
            value_halos_.data() + static_cast<std::size_t>(index) * halo_->size()};
}

HaloField<const double> Observations::weights(int index) const {
    const int layer = weights_.stride == 0 ? 0 : index;
    return {weights_.data + layer * weights_.stride, weights_.pitch,
            weight_halos_.data() + static_cast<std::size_t>(layer) * halo_->size()};
}

ObservedRow Observations::row(int step, int y, int strip) const {
    const auto at = static_cast<std::size_t>(step);
    const int index = at < index_of_.size() ? index_of_[at] : -1;
    if (index < 0)
        return {};
    const auto input = [&](const HaloField<const double>& field) {
        return PrefetchedRow{halo_->row(field, y, strip),
                             prefetch_rows * halo_->pitch(field, strip)};
    };
    return {input(values(index)), uniform() ? PrefetchedRow{} : input(weights(index)), weight_,
            huber_};
}

} // namespace uzushio::phasefield
