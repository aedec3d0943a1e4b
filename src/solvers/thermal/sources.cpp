#include "solvers/thermal/sources.hpp"

namespace uzushio::thermal {

void add_source(const FlowParameters& flow, const Source& source, double time, std::size_t normal,
                const Box<3>& box, const View<double>& derivative) {
    if (!source)
        return;
    for_indices(box, [&](const Index<3>& at) {
        Vector position{};
        for (std::size_t a = 0; a < static_cast<std::size_t>(flow.dimension); ++a) {
            const double* vertex = flow.vertices[a].data() + at[a];
            position[a] = a == normal ? vertex[0] : 0.5 * (vertex[0] + vertex[1]);
        }
        derivative(at) += source(position, time);
    });
}

} // namespace uzushio::thermal
