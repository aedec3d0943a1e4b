#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "raycast/point_values.hpp"
#include "raycast/vector3.hpp"

namespace uzushio::raycast {

/// Cells of a curvilinear mesh with their vertices; indices are in the order x, y, z.
struct MeshPart {
    std::array<std::ptrdiff_t, 3> vertices{}; ///< number of stored vertices along each axis
    const double* corners = nullptr;          ///< x, y and z of each vertex, contiguous along x
    std::array<std::ptrdiff_t, 2> strides{};  ///< of the vertices along y and z, in vertices
    std::array<std::ptrdiff_t, 3> first{};    ///< first cell of the part
    std::array<std::ptrdiff_t, 3> cells{};    ///< number of its cells along each axis
};

/// Triangles with values at their points.
struct TriangleSurface {
    std::vector<Vector3> points;
    std::vector<std::array<float, 3>> normals; ///< unit vectors, one for each point or none at all
    std::vector<std::vector<double>> values;   ///< one vector for each field
    std::vector<std::array<std::uint32_t, 3>> triangles;
};

/// Return the surface of a part where `field` has a value, and the values of `fields` on it.
///
/// Cells have the same line on a common face, whatever the order of their vertices: saddles are
/// decided by the bilinear function on the face (Nielson & Hamann 1991). So there are no gaps
/// between cells, nor between parts with equal values. Cells with a vertex whose value is not
/// finite have no surface. Normals are along the gradient of the field.
[[nodiscard]] TriangleSurface isosurface(const MeshPart& part, const PointValues& field,
                                         double value, std::span<const PointValues> fields,
                                         bool normals, int threads);

/// Return the intersection of a part with a plane, and the values of `fields` on it.
[[nodiscard]] TriangleSurface slice(const MeshPart& part, const Vector3& origin,
                                    const Vector3& normal, std::span<const PointValues> fields,
                                    int threads);

/// Return the part of a surface in the half space behind a plane; the normal points out of it.
[[nodiscard]] TriangleSurface clip(const TriangleSurface& surface, const Vector3& origin,
                                   const Vector3& normal);

} // namespace uzushio::raycast
