#include "domain/positions.hpp"

#include <stdexcept>

namespace uzushio::domain {

Field<double> positions(const Decomposition& decomposition, int rank, Centring centring,
                        int ghosts) {
    if (centring == Centring::face)
        throw std::invalid_argument("positions are those of cell centres or vertices");
    Field<double> field(decomposition, rank, {"position", 3, ghosts, centring, Values::position});
    std::size_t local = 0;
    for (const int id : decomposition.blocks_of(rank)) {
        const auto& coordinates =
            decomposition.mesh().zone(decomposition.block(id).zone).coordinates;
        const View<double> view = field.view(local);
        const Box<3>& own = field.owned(local++);
        for (std::int64_t k = own.lower[2]; k < own.upper[2]; ++k)
            for (std::int64_t j = own.lower[1]; j < own.upper[1]; ++j)
                for (std::int64_t i = own.lower[0]; i < own.upper[0]; ++i) {
                    const Vector at = centring == Centring::cell ? coordinates.centre({i, j, k})
                                                                 : coordinates.vertex({i, j, k});
                    for (int c = 0; c < 3; ++c)
                        view(i, j, k, c) = at[static_cast<std::size_t>(c)];
                }
    }
    return field;
}

} // namespace uzushio::domain
