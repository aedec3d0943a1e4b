#include "geometry/orientation.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <sstream>

#include "geometry/surface.hpp"

namespace uzushio::geometry {

using domain::Vector;

namespace {

/// Side of a triangle.
struct Side {
    std::pair<Vector, Vector> ends; ///< the smaller one first
    std::size_t triangle = 0;
    int sense = 1; ///< 1: the triangle passes from the first end to the second
};

std::vector<Side> sides_of(const std::vector<Triangle>& triangles) {
    std::vector<Side> sides;
    sides.reserve(3 * triangles.size());
    for (std::size_t t = 0; t < triangles.size(); ++t)
        for (std::size_t n = 0; n < 3; ++n) {
            const Vector &from = triangles[t][n], &to = triangles[t][(n + 1) % 3];
            sides.push_back({std::minmax(from, to), t, from < to ? 1 : -1});
        }
    std::sort(sides.begin(), sides.end(),
              [](const Side& a, const Side& b) { return a.ends < b.ends; });
    return sides;
}

/// Call `visit` with the sides that have the same ends.
template <class Visit> void for_groups(const std::vector<Side>& sides, const Visit& visit) {
    for (auto first = sides.begin(); first != sides.end();) {
        const auto last = std::find_if(first, sides.end(),
                                       [&](const Side& side) { return side.ends != first->ends; });
        visit(std::span(first, last));
        first = last;
    }
}

/// Return six times the volume between a triangle and a point.
double volume(const Triangle& triangle, const Vector& origin) {
    std::array<Vector, 3> p = triangle;
    for (Vector& corner : p)
        for (std::size_t a = 0; a < 3; ++a)
            corner[a] -= origin[a];
    double sum = 0;
    for (std::size_t a = 0; a < 3; ++a) {
        const std::size_t b = (a + 1) % 3, c = (a + 2) % 3;
        sum += p[0][a] * (p[1][b] * p[2][c] - p[1][c] * p[2][b]);
    }
    return sum;
}

/// Connected part of a surface.
struct Part {
    std::vector<std::size_t> triangles;
    Bounds bounds;
    bool is_closed = true;  ///< each side belongs to two of its triangles
    bool is_turned = false; ///< some triangles had another sense than the first
    double volume = 0;      ///< inside, if it is closed; negative: its triangles are turned inwards
    int outermost = -1;     ///< number of the largest part around it; -1: none
};

/// Parts of a surface, joined by sides that two triangles share.
class Parts {
  public:
    Parts(const std::vector<Triangle>& triangles, const std::vector<Side>& sides)
        : triangles_(triangles), neighbours_(3 * triangles.size()), count_(triangles.size()),
          sense_(triangles.size(), 0) {
        for_groups(sides, [&](std::span<const Side> group) {
            if (group.size() == 2)
                for (const auto& [side, other] :
                     {std::pair(group[0], group[1]), std::pair(group[1], group[0])})
                    neighbours_[3 * side.triangle + count_[side.triangle]++] = {
                        other.triangle, side.sense == other.sense ? -1 : 1};
        });
        for (std::size_t first = 0; first < triangles.size(); ++first)
            if (sense_[first] == 0)
                collect(first);
    }
    /// Turn closed parts outwards, and those inside of them as they were beside them.
    void turn() {
        std::vector<std::size_t> closed;
        for (std::size_t p = 0; p < parts_.size(); ++p)
            if (parts_[p].is_closed)
                closed.push_back(p);
        for (const std::size_t p : closed)
            for (const std::size_t q : closed)
                if (p != q && contains(parts_[q], parts_[p]))
                    place(parts_[p], static_cast<int>(q));
        for (const Part& part : parts_) {
            const Part& outer =
                part.outermost < 0 ? part : parts_[static_cast<std::size_t>(part.outermost)];
            if (outer.is_closed && outer.volume < 0)
                for (const std::size_t t : part.triangles)
                    sense_[t] = static_cast<signed char>(-sense_[t]);
        }
    }
    [[nodiscard]] std::optional<Undecided> undecided() const { return undecided_; }
    [[nodiscard]] const std::vector<signed char>& sense() const { return sense_; }

  private:
    void collect(std::size_t first) {
        Part part{.triangles = {first}, .bounds = {triangles_[first][0], triangles_[first][0]}};
        sense_[first] = 1;
        const Vector& origin = triangles_[first][0];
        for (std::size_t n = 0; n < part.triangles.size(); ++n) {
            const std::size_t t = part.triangles[n];
            for (const Vector& corner : triangles_[t])
                for (std::size_t a = 0; a < 3; ++a) {
                    part.bounds.lower[a] = std::min(part.bounds.lower[a], corner[a]);
                    part.bounds.upper[a] = std::max(part.bounds.upper[a], corner[a]);
                }
            part.volume += sense_[t] * volume(triangles_[t], origin);
            part.is_closed = part.is_closed && count_[t] == 3;
            for (std::size_t n_beside = 0; n_beside < count_[t]; ++n_beside) {
                const auto& [beside, relation] = neighbours_[3 * t + n_beside];
                if (sense_[beside] != 0)
                    continue; // a contradiction is an unbalanced side
                sense_[beside] = static_cast<signed char>(relation * sense_[t]);
                part.is_turned = part.is_turned || sense_[beside] < 0;
                part.triangles.push_back(beside);
            }
        }
        parts_.push_back(std::move(part));
    }
    /// Return whether a closed part is around another one.
    [[nodiscard]] bool contains(const Part& outer, const Part& inner) const {
        for (std::size_t a = 0; a < 3; ++a)
            if (inner.bounds.lower[a] < outer.bounds.lower[a] ||
                inner.bounds.upper[a] > outer.bounds.upper[a])
                return false;
        const Vector& point = triangles_[inner.triangles.front()][0];
        int turns = 0;
        for (const std::size_t t : outer.triangles)
            if (const int turn = turns_around(triangles_[t], 0, point);
                turn != 0 && height(triangles_[t], 0, point) < point[0])
                turns += turn * sense_[t];
        return turns != 0;
    }
    void place(Part& inner, int number) {
        const Part& outer = parts_[static_cast<std::size_t>(number)];
        if (inner.outermost < 0 ||
            std::abs(parts_[static_cast<std::size_t>(inner.outermost)].volume) <
                std::abs(outer.volume))
            inner.outermost = number;
        if ((inner.is_turned || outer.is_turned) && !undecided_)
            undecided_ = {triangles_[inner.triangles.front()][0],
                          "but a part of it lies inside of another one, and triangles of one of "
                          "them face both sides: it may be solid or a cavity"};
    }

    const std::vector<Triangle>& triangles_;
    std::vector<std::pair<std::size_t, int>> neighbours_; ///< three of each triangle
    std::vector<std::uint8_t> count_;                     ///< of them
    std::vector<signed char> sense_;
    std::vector<Part> parts_;
    std::optional<Undecided> undecided_;
};

/// Return the place of triangles, joined by sides of any number of them, that enclose nothing, such
/// as two opposite ones at each place.
std::optional<Undecided> without_volume(const std::vector<Triangle>& triangles,
                                        const std::vector<Side>& sides,
                                        const std::vector<signed char>& sense) {
    constexpr double round_off = 1e-9;
    std::vector<std::size_t> first(triangles.size()); // triangle that is joined to each
    std::iota(first.begin(), first.end(), std::size_t{0});
    const auto root = [&](std::size_t t) {
        while (first[t] != t)
            t = first[t] = first[first[t]];
        return t;
    };
    for_groups(sides, [&](std::span<const Side> group) {
        for (const Side& side : group)
            first[root(side.triangle)] = root(group.front().triangle);
    });
    std::vector<std::array<double, 2>> volumes(triangles.size()); // sums of values and magnitudes
    for (std::size_t t = 0; t < triangles.size(); ++t) {
        const double signed_volume = sense[t] * volume(triangles[t], triangles[root(t)][0]);
        volumes[root(t)][0] += signed_volume;
        volumes[root(t)][1] += std::abs(signed_volume);
    }
    for (std::size_t t = 0; t < triangles.size(); ++t)
        if (root(t) == t && std::abs(volumes[t][0]) <= round_off * volumes[t][1])
            return Undecided{triangles[t][0], "and its triangles enclose no volume"};
    return std::nullopt;
}

} // namespace

Orientation orientation_of(const std::vector<Triangle>& triangles) {
    const std::vector<Side> sides = sides_of(triangles);
    Parts parts(triangles, sides);
    parts.turn();
    Orientation result{parts.sense(), parts.undecided()};
    if (!result.undecided)
        result.undecided = without_volume(triangles, sides, result.sense);
    for_groups(sides, [&](std::span<const Side> group) {
        int sum = 0;
        for (const Side& side : group)
            sum += side.sense * result.sense[side.triangle];
        if (sum == 0 || result.undecided)
            return;
        const auto& [from, to] = group.front().ends;
        Undecided undecided;
        for (std::size_t a = 0; a < 3; ++a)
            undecided.at[a] = 0.5 * (from[a] + to[a]);
        std::ostringstream text;
        text << "and " << group.size() << (group.size() == 1 ? " triangle has" : " triangles share")
             << " one side, and do not tell inside from outside";
        undecided.reason = text.str();
        result.undecided = undecided;
    });
    return result;
}

} // namespace uzushio::geometry
