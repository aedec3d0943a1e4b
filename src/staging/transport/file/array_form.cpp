#include "staging/transport/file/array_form.hpp"

namespace uzushio::staging::file {

ArrayForm ArrayForm::of(const StepInfo& step, const Block& block, const StoredArray& array) {
    const Field& field = step.fields[array.field];
    ArrayForm form{natural_order(array.layout), stored_box(step, block, array).extents(),
                   field.components, size_of(field.type)};
    // For very small arrays both orders have the same packed layout; use the one that a reader
    // derives.
    form.order = natural_order(form.layout());
    return form;
}

ArrayLayout ArrayForm::layout() const {
    return stream_layout(count, components, scalar_bytes, order);
}

std::vector<std::int64_t> ArrayForm::shape() const {
    std::vector<std::int64_t> shape(count.begin(), count.end());
    if (components > 1)
        shape.insert(order == ComponentOrder::planar ? shape.begin() : shape.end(), components);
    return shape;
}

std::vector<std::string> ArrayForm::axes() const {
    std::vector<std::string> axes{"z", "y", "x"};
    if (components > 1)
        axes.insert(order == ComponentOrder::planar ? axes.begin() : axes.end(), "component");
    return axes;
}

} // namespace uzushio::staging::file
