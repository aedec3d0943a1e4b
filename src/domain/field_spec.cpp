#include "domain/field_spec.hpp"

#include <stdexcept>

namespace uzushio::domain {

std::vector<Stagger> staggers(const FieldSpec& spec, int dimension) {
    if (spec.components < 1 || spec.ghosts < 0)
        throw std::invalid_argument("field '" + spec.name + "' has " +
                                    std::to_string(spec.components) + " components and " +
                                    std::to_string(spec.ghosts) +
                                    " ghost layers; at least 1 and 0 are needed");
    if (spec.values == Values::position && spec.components != 3)
        throw std::invalid_argument("field '" + spec.name +
                                    "' holds positions, which have 3 components");
    if (spec.values == Values::flux && spec.centring != Centring::face)
        throw std::invalid_argument("field '" + spec.name + "' holds fluxes, which lie on faces");
    const auto axes = static_cast<std::size_t>(dimension);
    if (spec.centring == Centring::cell)
        return {Stagger{}};
    if (spec.centring == Centring::vertex) {
        Stagger stagger{};
        for (std::size_t a = 0; a < axes; ++a)
            stagger[a] = 1;
        return {stagger};
    }
    std::vector<Stagger> result(axes);
    for (std::size_t a = 0; a < axes; ++a)
        result[a][a] = 1;
    return result;
}

} // namespace uzushio::domain
