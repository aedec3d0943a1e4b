#include "solvers/thermal/surface_patches.hpp"

#include <algorithm>

#include "domain/halo_exchange.hpp"
#include "geometry/parts.hpp"

namespace uzushio::thermal {

namespace {

/// Call `visit(axis, step, link)` for the links of a cell to its neighbours; null: not cut.
template <class Visit>
void for_links(const ImmersedGrid& immersed, std::size_t block, std::size_t dimension,
               const Index<3>& at, const Visit& visit) {
    for (std::size_t axis = 0; axis < dimension; ++axis)
        for (const int step : {-1, 1})
            visit(axis, step,
                  immersed.cell_links(block, axis).find(step > 0 ? at : moved(at, axis, -1)));
}

/// Return the number of the body whose surface cuts the link of a cell, as seen from there.
int body_beyond(const ImmersedGrid& immersed, const geometry::CutLink& link, int step) {
    return immersed.body(step > 0 ? link.lower_body : link.upper_body);
}

} // namespace

SurfacePatches::SurfacePatches(MPI_Comm comm, const domain::Decomposition& decomposition, int rank,
                               const ImmersedGrid& immersed, std::size_t bodies)
    : bodies_(bodies), labels_(decomposition, rank, {.name = "patch", .ghosts = 1}) {
    const auto dimension = static_cast<std::size_t>(decomposition.mesh().dimension());
    // Of fluid cells near surfaces, 1 plus the number of a body, else 0.
    domain::Field<double> near(decomposition, rank, labels_.spec());
    parallel::Traffic uncounted;
    domain::HaloExchange<double> halo(comm, decomposition, {near.spec()}, domain::Reach::faces,
                                      uncounted);
    const auto for_fluid = [&](const auto& visit) {
        for (std::size_t b = 0; b < near.blocks(); ++b)
            for_indices(near.owned(b), [&](const Index<3>& at) {
                if (immersed.is_fluid(b, at))
                    visit(b, at);
            });
    };
    for_fluid([&](std::size_t b, const Index<3>& at) {
        double& body = near.view(b)(at);
        for_links(immersed, b, dimension, at, [&](std::size_t, int step, const auto* link) {
            if (link != nullptr)
                body = std::max(body, 1.0 + body_beyond(immersed, *link, step));
        });
    });
    halo.exchange(near);
    domain::Field<double> wide(decomposition, rank, near.spec());
    for_fluid([&](std::size_t b, const Index<3>& at) {
        double& body = wide.view(b)(at);
        body = std::as_const(near).view(b)(at);
        if (body != 0)
            return;
        for_links(immersed, b, dimension, at, [&](std::size_t axis, int step, const auto* link) {
            if (link == nullptr)
                body = std::max(body, std::as_const(near).view(b)(moved(at, axis, step)));
        });
    });
    halo.exchange(wide);
    geometry::label_parts(
        comm, decomposition,
        [&](std::size_t b, const Index<3>& at, std::size_t axis, int step) {
            const View<const double> body = std::as_const(wide).view(b);
            return axis < dimension && body(at) != 0 && body(at) == body(moved(at, axis, step)) &&
                   immersed.cell_links(b, axis).find(step > 0 ? at : moved(at, axis, -1)) ==
                       nullptr;
        },
        labels_);
    std::vector<double> own;
    for_fluid([&](std::size_t b, const Index<3>& at) {
        for_links(immersed, b, dimension, at, [&](std::size_t, int step, const auto* link) {
            if (link != nullptr)
                own.push_back(key(b, at, body_beyond(immersed, *link, step)));
        });
    });
    keys_ = geometry::distinct_values(comm, own);
}

double SurfacePatches::key(std::size_t block, const Index<3>& cell, int body) const {
    return labels_.view(block)(cell) * static_cast<double>(bodies_) + body;
}

std::size_t SurfacePatches::patch(std::size_t block, const Index<3>& cell, int body) const {
    const auto position = std::lower_bound(keys_.begin(), keys_.end(), key(block, cell, body));
    return static_cast<std::size_t>(position - keys_.begin());
}

} // namespace uzushio::thermal
