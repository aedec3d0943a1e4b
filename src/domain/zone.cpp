#include "domain/zone.hpp"

#include <utility>

namespace uzushio::domain {

void Zone::set_boundary(Face face, std::string condition) {
    boundaries.push_back({Patch::whole(face, cells), std::move(condition)});
}

void connect(Zone& zone, const Patch& patch, Zone& donor, const Patch& donor_patch,
             const Transform& transform, const Vector& translation) {
    const Vector back{-translation[0], -translation[1], -translation[2]};
    zone.connections.push_back({patch, donor.name, donor_patch, transform, translation});
    donor.connections.push_back({donor_patch, zone.name, patch, transform.inverse(), back});
}

void connect_periodic(Zone& zone, std::size_t axis, const Vector& period) {
    connect(zone, Patch::whole({axis, Side::lower}, zone.cells), zone,
            Patch::whole({axis, Side::upper}, zone.cells), {}, period);
}

} // namespace uzushio::domain
