#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "geometry/triangles.hpp"

namespace uzushio::geometry {

/// Triangles of an STL file.
struct StlTriangles {
    std::vector<Triangle> triangles;
    std::int64_t degenerate = 0; ///< triangles with equal corners: they are not in `triangles`
};

/// Read a binary or an ASCII STL file; normals and attributes are not used, nor are a byte order
/// mark and what fills the file behind the last triangle. A corner of the surface is at `offset` +
/// `scale` times the position in the file.
///
/// Throws `std::invalid_argument`, naming the file, if it cannot be read, is not STL, is truncated,
/// has a position that is NaN or infinite, or has no triangles.
[[nodiscard]] StlTriangles read_stl(const std::filesystem::path& file, double scale,
                                    const domain::Vector& offset);

} // namespace uzushio::geometry
