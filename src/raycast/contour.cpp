#include "raycast/contour.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace uzushio::raycast {

namespace {

using Offset = std::ptrdiff_t;
using Eight = std::array<double, 8>;

constexpr std::uint8_t above = 1, undefined = 2;

/// Index of the edge between two corners of a cell. A corner's index has the bit 1 << axis.
constexpr std::size_t edge_between(unsigned a, unsigned b) {
    const unsigned low = a & b, bit = a ^ b;
    return bit == 1 ? low >> 1 : bit == 2 ? 4 + ((low & 1) | (low >> 1 & 2)) : 8 + (low & 3);
}

/// Corners of the faces of a cell, anticlockwise as seen from outside.
constexpr std::array<std::array<unsigned, 4>, 6> faces{
    {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}}};

/// Lower corner of each edge; its axis is the number of the edge divided by 4.
constexpr std::array<unsigned, 12> lower_corner{0, 2, 4, 6, 0, 1, 4, 5, 0, 1, 2, 3};

/// Indices x, y, z of a stored vertex.
using Vertex = std::array<Offset, 3>;

/// Return the coordinates of a vertex.
const double* place(const MeshPart& part, const Vertex& v) {
    return part.corners + 3 * (v[0] + v[1] * part.strides[0] + v[2] * part.strides[1]);
}

/// Levels are the distances from a plane.
struct PlaneLevel {
    const MeshPart& part;
    Vector3 normal;
    double origin;

    double operator()(const Vertex& v) const {
        const double* p = place(part, v);
        return normal[0] * p[0] + normal[1] * p[1] + normal[2] * p[2] - origin;
    }
};

/// Levels are the differences of a field from a value.
template <class T> struct FieldLevel {
    const T* data;
    std::array<std::int64_t, 3> strides;
    double value;

    double operator()(const Vertex& v) const {
        return static_cast<double>(
                   data[v[0] * strides[0] + v[1] * strides[1] + v[2] * strides[2]]) -
               value;
    }
};

/// Set the bytes of a row of vertices: whether levels are above zero, or undefined.
void classify(const PlaneLevel& level, const Vertex& first, Offset count, std::uint8_t* out) {
    const double* p = place(level.part, first);
    const auto [a, b, c] = level.normal;
    const double d = level.origin;
    for (Offset i = 0; i < count; ++i) {
        const double distance = a * p[3 * i] + b * p[3 * i + 1] + c * p[3 * i + 2] - d;
        out[i] = static_cast<std::uint8_t>((distance >= 0 ? above : 0) |
                                           (distance - distance == 0 ? 0 : undefined));
    }
}

template <class T>
void classify(const FieldLevel<T>& level, const Vertex& first, Offset count, std::uint8_t* out) {
    const auto stride = level.strides[0];
    const T* row =
        level.data + first[0] * stride + first[1] * level.strides[1] + first[2] * level.strides[2];
    const auto byte = [&](T value) {
        return static_cast<std::uint8_t>(
            (static_cast<double>(value) - level.value >= 0 ? above : 0) |
            (value - value == 0 ? 0 : undefined));
    };
    if (stride == 1)
        for (Offset i = 0; i < count; ++i)
            out[i] = byte(row[i]);
    else
        for (Offset i = 0; i < count; ++i)
            out[i] = byte(row[i * stride]);
}

/// Triangulation of some layers of cells along z.
template <class Level> class LayerContour {
  public:
    LayerContour(const MeshPart& part, const Level& level, std::span<const PointValues> fields,
                 bool normals)
        : part_(part), level_(level), fields_(fields), normals_(normals), row_(part.cells[0] + 1),
          plane_(row_ * (part.cells[1] + 1)) {
        surface_.values.resize(fields.size());
        for (auto& bytes : bytes_)
            bytes.resize(index(plane_));
        active_.resize(index(part.cells[0]));
        for (auto& edges : edges_)
            edges.points.assign(index(plane_), none);
    }

    TriangleSurface operator()(Offset begin, Offset end) {
        classify_plane(begin, bytes_[1]);
        for (Offset k = begin; k < end; ++k) {
            std::swap(bytes_[0], bytes_[1]);
            classify_plane(k + 1, bytes_[1]);
            // Points on the upper plane are those on the next layer's lower one.
            std::swap(edges_[0], edges_[2]);
            std::swap(edges_[1], edges_[3]);
            for (std::size_t n = k == begin ? 0 : 2; n < 5; ++n)
                if (edges_[n].used)
                    edges_[n].points.assign(index(plane_), none), edges_[n].used = false;
            add_layer(k);
        }
        return std::move(surface_);
    }

  private:
    struct Edges {
        std::vector<std::uint32_t> points;
        bool used = false;
    };
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    static std::size_t index(Offset i) { return static_cast<std::size_t>(i); }

    /// Return the stored vertex of a corner of the part's cells.
    Vertex vertex(Offset k, Offset j, Offset i) const {
        return {part_.first[0] + i, part_.first[1] + j, part_.first[2] + k};
    }

    void classify_plane(Offset k, std::vector<std::uint8_t>& bytes) {
        for (Offset j = 0; j <= part_.cells[1]; ++j)
            classify(level_, vertex(k, j, 0), row_, &bytes[index(j * row_)]);
    }

    void add_layer(Offset k) {
        for (Offset j = 0; j < part_.cells[1]; ++j) {
            const std::uint8_t *a = &bytes_[0][index(j * row_)], *b = a + row_,
                               *c = &bytes_[1][index(j * row_)], *d = c + row_;
            const Offset n = part_.cells[0];
            std::uint8_t crossed = 0;
            for (Offset i = 0; i < n; ++i) {
                const auto some =
                    a[i] | a[i + 1] | b[i] | b[i + 1] | c[i] | c[i + 1] | d[i] | d[i + 1];
                const auto all =
                    a[i] & a[i + 1] & b[i] & b[i + 1] & c[i] & c[i + 1] & d[i] & d[i + 1];
                active_[index(i)] = static_cast<std::uint8_t>(some ^ (all & above)) == above;
                crossed |= active_[index(i)];
            }
            if (!crossed)
                continue;
            for (Offset i = 0; i < n; ++i)
                if (active_[index(i)])
                    add_cell(k, j, i);
        }
    }

    void add_cell(Offset k, Offset j, Offset i) {
        std::array<bool, 8> positive{};
        for (unsigned c = 0; c < 8; ++c)
            positive[c] = bytes_[c >> 2][index((j + (c >> 1 & 1)) * row_ + i + (c & 1))] & above;
        // A line on a face begins where its outline goes from above to below.
        std::array<std::int8_t, 12> next{};
        next.fill(-1);
        for (const auto& face : faces)
            add_lines(face, positive, {k, j, i}, next);
        for (std::size_t e = 0; e < 12; ++e) {
            std::array<std::uint32_t, 12> loop{};
            std::size_t length = 0;
            for (auto at = e; next[at] >= 0;) {
                loop[length++] = point_on(at, k, j, i);
                at = static_cast<std::size_t>(std::exchange(next[at], std::int8_t{-1}));
            }
            for (std::size_t n = 2; n < length; ++n)
                surface_.triangles.push_back({loop[0], loop[n - 1], loop[n]});
        }
    }

    void add_lines(const std::array<unsigned, 4>& face, const std::array<bool, 8>& positive,
                   const std::array<Offset, 3>& cell, std::array<std::int8_t, 12>& next) {
        std::array<std::size_t, 4> edges{};
        unsigned begins = 0, ends = 0, count = 0;
        for (unsigned m = 0; m < 4; ++m) {
            const unsigned a = face[m], b = face[(m + 1) % 4];
            edges[m] = edge_between(a, b);
            if (positive[a] != positive[b]) {
                ++count;
                (positive[a] ? begins : ends) = m;
            }
        }
        if (count == 2)
            next[edges[begins]] = static_cast<std::int8_t>(edges[ends]);
        if (count != 4)
            return;
        std::array<double, 4> levels{};
        for (unsigned m = 0; m < 4; ++m)
            levels[m] = level_(vertex(cell[0] + (face[m] >> 2), cell[1] + (face[m] >> 1 & 1),
                                      cell[2] + (face[m] & 1)));
        const double even = levels[0] * levels[2], odd = levels[1] * levels[3];
        const bool even_above = positive[face[0]];
        const bool joined = (even_above ? even : odd) >= (even_above ? odd : even);
        for (unsigned m = even_above ? 0 : 1; m < 4; m += 2)
            next[edges[m]] = static_cast<std::int8_t>(edges[(m + (joined ? 1 : 3)) % 4]);
    }

    /// Return the point on an edge of a cell; points are shared by the cells of some layers.
    std::uint32_t point_on(std::size_t edge, Offset k, Offset j, Offset i) {
        const unsigned low = lower_corner[edge], axis = static_cast<unsigned>(edge / 4);
        const Offset dz = low >> 2, dy = low >> 1 & 1, dx = low & 1;
        auto& known = edges_[axis == 2 ? 4 : 2 * index(dz) + axis];
        known.used = true;
        auto& point = known.points[index((j + dy) * row_ + i + dx)];
        if (point == none) {
            const Vertex a = vertex(k + dz, j + dy, i + dx);
            const Vertex b =
                vertex(k + dz + (axis == 2), j + dy + (axis == 1), i + dx + (axis == 0));
            point = static_cast<std::uint32_t>(surface_.points.size());
            add_point(level_(a) < level_(b) ? a : b, level_(a) < level_(b) ? b : a);
        }
        return point;
    }

    /// Add a point between two vertices, the lower level first: equal in all cells of the edge.
    void add_point(const Vertex& a, const Vertex& b) {
        const double low = level_(a), high = level_(b);
        const double share = std::clamp(low / (low - high), 0.0, 1.0);
        const double *p = place(part_, a), *q = place(part_, b);
        surface_.points.push_back({p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1]),
                                   p[2] + share * (q[2] - p[2])});
        for (std::size_t n = 0; n < fields_.size(); ++n) {
            const double first = value(fields_[n], a), second = value(fields_[n], b);
            surface_.values[n].push_back(first + share * (second - first));
        }
        if (!normals_)
            return;
        const Vector3 g = unit(gradient(a)), h = unit(gradient(b));
        const Vector3 mean = unit((1 - share) * g + share * h);
        surface_.normals.push_back({static_cast<float>(mean[0]), static_cast<float>(mean[1]),
                                    static_cast<float>(mean[2])});
    }

    static double value(const PointValues& field, const Vertex& v) {
        return field.at(v[0] * field.strides[0] + v[1] * field.strides[1] +
                        v[2] * field.strides[2]);
    }

    static Vector3 unit(const Vector3& v) {
        const double length = norm(v);
        return length > 0 ? (1 / length) * v : v;
    }

    /// Return a vector along the gradient at a vertex, from differences of its neighbours.
    Vector3 gradient(const Vertex& vertex) const {
        std::array<Vector3, 3> along;
        Vector3 change;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            Vertex a = vertex, b = vertex;
            a[axis] = std::max<Offset>(a[axis] - 1, 0);
            b[axis] = std::min(b[axis] + 1, part_.vertices[axis] - 1);
            const double *p = place(part_, a), *q = place(part_, b);
            along[axis] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]};
            change[axis] = level_(b) - level_(a);
        }
        const Vector3 yz = cross(along[1], along[2]);
        const Vector3 sum = change[0] * yz + change[1] * cross(along[2], along[0]) +
                            change[2] * cross(along[0], along[1]);
        return (dot(along[0], yz) < 0 ? -1.0 : 1.0) * sum;
    }

    const MeshPart& part_;
    const Level& level_;
    std::span<const PointValues> fields_;
    bool normals_;
    Offset row_, plane_;
    std::array<std::vector<std::uint8_t>, 2> bytes_; ///< of the planes below and above the layer
    std::vector<std::uint8_t> active_;               ///< whether cells of a row are crossed
    /// Points on edges along x and y of the lower plane, of the upper plane, and along z.
    std::array<Edges, 5> edges_;
    TriangleSurface surface_;
};

/// Append a surface to another one.
void append(const TriangleSurface& part, TriangleSurface& whole) {
    const auto first = static_cast<std::uint32_t>(whole.points.size());
    whole.points.insert(whole.points.end(), part.points.begin(), part.points.end());
    whole.normals.insert(whole.normals.end(), part.normals.begin(), part.normals.end());
    for (std::size_t n = 0; n < whole.values.size(); ++n)
        whole.values[n].insert(whole.values[n].end(), part.values[n].begin(), part.values[n].end());
    for (const auto& [a, b, c] : part.triangles)
        whole.triangles.push_back({a + first, b + first, c + first});
}

template <class Level>
TriangleSurface contour(const MeshPart& part, const Level& level,
                        std::span<const PointValues> fields, bool normals, int threads) {
    const Offset layers = part.cells[2];
    const Offset chunks = std::clamp<Offset>(4 * threads, 1, std::max<Offset>(layers, 1));
    std::vector<TriangleSurface> surfaces(static_cast<std::size_t>(chunks));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (Offset n = 0; n < chunks; ++n)
        surfaces[static_cast<std::size_t>(n)] = LayerContour<Level>(part, level, fields, normals)(
            layers * n / chunks, layers * (n + 1) / chunks);
    TriangleSurface whole = std::move(surfaces[0]);
    for (std::size_t n = 1; n < surfaces.size(); ++n)
        append(surfaces[n], whole);
    return whole;
}

} // namespace

TriangleSurface isosurface(const MeshPart& part, const PointValues& field, double value,
                           std::span<const PointValues> fields, bool normals, int threads) {
    if (field.is_double)
        return contour(
            part, FieldLevel<double>{static_cast<const double*>(field.data), field.strides, value},
            fields, normals, threads);
    return contour(part,
                   FieldLevel<float>{static_cast<const float*>(field.data), field.strides, value},
                   fields, normals, threads);
}

TriangleSurface slice(const MeshPart& part, const Vector3& origin, const Vector3& normal,
                      std::span<const PointValues> fields, int threads) {
    return contour(part, PlaneLevel{part, normal, dot(normal, origin)}, fields, false, threads);
}

TriangleSurface clip(const TriangleSurface& surface, const Vector3& origin, const Vector3& normal) {
    TriangleSurface result = surface;
    result.triangles.clear();
    const auto distance = [&](std::uint32_t point) {
        return dot(surface.points[point] - origin, normal);
    };
    const auto between = [&](std::uint32_t a, std::uint32_t b) { // a is inside, b outside
        const double share = distance(a) / (distance(a) - distance(b));
        const auto part = static_cast<float>(share);
        result.points.push_back(surface.points[a] +
                                share * (surface.points[b] - surface.points[a]));
        for (auto& values : result.values)
            values.push_back(values[a] + share * (values[b] - values[a]));
        if (!surface.normals.empty()) {
            const auto &m = surface.normals[a], &n = surface.normals[b];
            result.normals.push_back({m[0] + part * (n[0] - m[0]), m[1] + part * (n[1] - m[1]),
                                      m[2] + part * (n[2] - m[2])});
        }
        return static_cast<std::uint32_t>(result.points.size() - 1);
    };
    for (const auto& triangle : surface.triangles) {
        std::array<std::uint32_t, 4> kept{};
        std::size_t count = 0;
        for (std::size_t n = 0; n < 3; ++n) {
            const auto a = triangle[n], b = triangle[(n + 1) % 3];
            const bool a_inside = distance(a) <= 0, b_inside = distance(b) <= 0;
            if (a_inside)
                kept[count++] = a;
            if (a_inside != b_inside)
                kept[count++] = a_inside ? between(a, b) : between(b, a);
        }
        for (std::size_t n = 2; n < count; ++n)
            result.triangles.push_back({kept[0], kept[n - 1], kept[n]});
    }
    return result;
}

} // namespace uzushio::raycast
