#include "staging/wire/checksum.hpp"

#include "staging/wire/crc32c.hpp"

namespace uzushio::staging {

std::uint32_t checksum(const ConstArrayView& view, ComponentOrder order) {
    RunCursor runs(view, order);
    std::uint32_t sum = 0;
    for (auto run = runs.next(); !run.empty(); run = runs.next())
        sum = crc32c(run, sum);
    return sum;
}

std::uint32_t checksum(const ConstArrayView& view) {
    return checksum(view, natural_order(view.layout));
}

} // namespace uzushio::staging
