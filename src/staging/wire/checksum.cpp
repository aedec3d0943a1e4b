#include "staging/wire/checksum.hpp"

namespace uzushio::staging {

std::uint32_t checksum(const ConstArrayView& view, ComponentOrder order) {
    return sum_runs(RunCursor(view, order), view.bytes());
}

std::uint32_t checksum(const ConstArrayView& view) {
    return checksum(view, natural_order(view.layout));
}

} // namespace uzushio::staging
