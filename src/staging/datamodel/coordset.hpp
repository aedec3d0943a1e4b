#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace uzushio::staging {

/// Vertex i along an axis lies at `origin + i * spacing`, i being its global index. Axes are those
/// of a `Box`.
struct UniformCoords {
    std::array<double, 3> origin{};
    std::array<double, 3> spacing{1, 1, 1};

    bool operator==(const UniformCoords&) const = default;
};

/// Coordinates of the vertices `start[a]`, `start[a] + 1`, ... along each axis of a `Box`, for the
/// whole index space of the topology.
struct RectilinearCoords {
    std::array<std::int64_t, 3> start{};
    std::array<std::vector<double>, 3> values;

    bool operator==(const RectilinearCoords&) const = default;
};

/// Curvilinear coordinates: a vertex field of the topology with components x, y, z, which is read
/// and redistributed as any other field.
struct ExplicitCoords {
    std::string field;

    bool operator==(const ExplicitCoords&) const = default;
};

/// Coordinates of the vertices of a topology (Conduit Blueprint's coordset).
struct Coordset {
    std::string name;
    std::variant<UniformCoords, RectilinearCoords, ExplicitCoords> coords;

    bool operator==(const Coordset&) const = default;
};

} // namespace uzushio::staging
