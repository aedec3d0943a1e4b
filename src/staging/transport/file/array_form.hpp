#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "staging/datamodel/run_iterator.hpp"
#include "staging/datamodel/step_info.hpp"

namespace uzushio::staging::file {

/// Layout of a block's array in its Zarr array: packed, in the order in which the array's own
/// layout has the longer runs, with an axis for components if there are several.
struct ArrayForm {
    ComponentOrder order = ComponentOrder::interleaved;
    Extent count{};
    std::int64_t components = 1;
    std::int64_t scalar_bytes = 1;

    [[nodiscard]] static ArrayForm of(const StepInfo& step, const Block& block,
                                      const StoredArray& array);

    [[nodiscard]] ArrayLayout layout() const;
    [[nodiscard]] std::vector<std::int64_t> shape() const;
    [[nodiscard]] std::vector<std::string> axes() const; ///< names of the axes
};

} // namespace uzushio::staging::file
