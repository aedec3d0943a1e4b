#pragma once

#include <cmath>
#include <memory>
#include <numbers>

#include "domain/mesh.hpp"

namespace uzushio::domain {

/// O-grid in a cylinder of radius 1 and length 1, periodic along z: a square core and four shells
/// around it. Axes differ between zones; one zone is left-handed. The mantle is the boundary
/// "mantle". `n` cells along each edge of the core, as many from it to the mantle, `nz` along z.
inline std::shared_ptr<const Mesh> cylinder_mesh(std::int64_t n, std::int64_t nz) {
    // From (radius, angle, z) to the axes of each shell.
    const std::array<Transform, 4> own{Transform({1, 2, 3}), Transform({2, -1, 3}),
                                       Transform({-3, 1, -2}), Transform({2, 1, 3})};
    // From the core's axes to (radius, angle, z) of each shell, a quarter turn further each.
    const std::array<Transform, 4> turned{Transform({1, 2, 3}), Transform({-2, 1, 3}),
                                          Transform({-1, -2, 3}), Transform({2, -1, 3})};
    const std::array<Face, 4> core_faces{Face{0, Side::upper}, Face{1, Side::upper},
                                         Face{0, Side::lower}, Face{1, Side::lower}};
    const auto face_of = [&](std::size_t q, std::size_t axis, bool upper) {
        const bool forward = own[q].sign(axis) > 0;
        return Face{own[q].axis(axis), upper == forward ? Side::upper : Side::lower};
    };

    std::vector<Zone> zones(5);
    const Index<3> counts{n, n, nz};
    zones[4].name = "core";
    zones[4].cells = counts;
    constexpr double half = 0.45; // of the core's edge
    zones[4].coordinates = Coordinates::curvilinear([n, nz](const Index<3>& v) {
        const auto along = [n](std::int64_t i) {
            return half * static_cast<double>(2 * i - n) / static_cast<double>(n);
        };
        return Vector{along(v[0]), along(v[1]),
                      static_cast<double>(v[2]) / static_cast<double>(nz)};
    });
    for (std::size_t q = 0; q < 4; ++q) {
        Zone& shell = zones[q];
        shell.name = "shell_" + std::to_string(q);
        for (std::size_t a = 0; a < 3; ++a)
            shell.cells[own[q].axis(a)] = counts[a];
        shell.coordinates =
            Coordinates::curvilinear([counts, q, to_own = own[q]](const Index<3>& vertex) {
                Vector s{}; // radius, angle and z from 0 to 1
                for (std::size_t a = 0; a < 3; ++a) {
                    const std::int64_t v = vertex[to_own.axis(a)];
                    s[a] = static_cast<double>(to_own.sign(a) > 0 ? v : counts[a] - v) /
                           static_cast<double>(counts[a]);
                }
                const double t = 2 * s[1] - 1, angle = std::numbers::pi / 4 * t;
                double x = (1 - s[0]) * half + s[0] * std::cos(angle);
                double y = (1 - s[0]) * half * t + s[0] * std::sin(angle);
                for (std::size_t turn = 0; turn < q; ++turn)
                    x = std::exchange(y, x) * -1;
                return Vector{x, y, s[2]};
            });
        shell.set_boundary(face_of(q, 0, true), "mantle");
        const std::size_t along_z = own[q].axis(2);
        connect_periodic(shell, along_z, {0, 0, own[q].sign(2) > 0 ? 1.0 : -1.0});
    }
    connect_periodic(zones[4], 2, {0, 0, 1});
    for (std::size_t q = 0; q < 4; ++q) {
        const Face inner = face_of(q, 0, false), last = face_of(q, 1, true);
        connect(zones[4], Patch::whole(core_faces[q], counts), zones[q],
                Patch::whole(inner, zones[q].cells), turned[q].then(own[q]));
        const std::size_t next = (q + 1) % 4;
        connect(zones[q], Patch::whole(last, zones[q].cells), zones[next],
                Patch::whole(face_of(next, 1, false), zones[next].cells),
                own[q].inverse().then(own[next]));
    }
    return std::make_shared<const Mesh>(3, std::move(zones));
}

} // namespace uzushio::domain
