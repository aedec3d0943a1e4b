#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "domain/mesh.hpp"

namespace uzushio::domain {

/// Mesh whose zones are boxes of one global grid of cells, with differently oriented axes. Expected
/// values follow from the global grid: global vertex (i, j, k) is exactly at (2 i, 3 j, 5 k).
class OrientedZones {
  public:
    struct Part {
        Box<3> cells;     ///< global
        Transform to_own; ///< from the global axes to the zone's
    };

    OrientedZones(const Index<3>& cells, const std::array<bool, 3>& periodic,
                  std::vector<Part> parts)
        : cells_(cells), periodic_(periodic), parts_(std::move(parts)) {}

    /// Return a box of cells cut at random into `count` zones with random orientations.
    static OrientedZones random(const Index<3>& cells, const std::array<bool, 3>& periodic,
                                int count, unsigned seed) {
        std::mt19937 random(seed);
        const auto transforms = Transform::all();
        std::vector<Part> parts{{Box<3>::of(cells), {}}};
        while (static_cast<int>(parts.size()) < count) {
            const std::size_t which = random() % parts.size();
            const std::size_t axis = random() % 3;
            const Box<3> box = parts[which].cells;
            if (box.extent(axis) < 2)
                continue;
            const auto [below, above] =
                box.split(axis, box.lower[axis] + 1 + random() % (box.extent(axis) - 1));
            parts[which].cells = below;
            parts.push_back({above, {}});
        }
        for (Part& part : parts)
            part.to_own = transforms[random() % transforms.size()];
        return {cells, periodic, std::move(parts)};
    }

    /// Return the zones: all that touch are connected, and the boundary of the grid is "wall".
    [[nodiscard]] std::vector<Zone> zones() const {
        std::vector<Zone> zones;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            Zone zone;
            zone.name = "zone " + std::to_string(p);
            for (std::size_t d = 0; d < 3; ++d)
                zone.cells[parts_[p].to_own.axis(d)] = parts_[p].cells.extent(d);
            zone.coordinates = Coordinates::curvilinear(
                [*this, p](const Index<3>& vertex) { return position(p, vertex); });
            zones.push_back(std::move(zone));
        }
        for (std::size_t p = 0; p < parts_.size(); ++p)
            for (const Face face : faces(3))
                connect_face(zones, p, face);
        return zones;
    }
    [[nodiscard]] std::shared_ptr<const Mesh> mesh() const {
        return std::make_shared<const Mesh>(3, zones());
    }

    /// Return the position of a zone's vertex, which may be outside the zone.
    [[nodiscard]] Vector position(std::size_t zone, const Index<3>& vertex) const {
        constexpr Vector spacing{2, 3, 5};
        Vector result{};
        const Index<3> global = global_index(zone, vertex, {1, 1, 1});
        for (std::size_t d = 0; d < 3; ++d)
            result[d] = spacing[d] * static_cast<double>(global[d]);
        return result;
    }

    /// Return the global index of a zone's value with this stagger along the zone's axes.
    [[nodiscard]] Index<3> global_index(std::size_t zone, const Index<3>& own,
                                        const Stagger& stagger) const {
        const Part& part = parts_[zone];
        Index<3> global{};
        for (std::size_t d = 0; d < 3; ++d) {
            const std::size_t e = part.to_own.axis(d);
            global[d] = part.to_own.sign(d) > 0
                            ? part.cells.lower[d] + own[e]
                            : part.cells.upper[d] - own[e] - (stagger[e] ? 0 : 1);
        }
        return global;
    }
    /// Map an index into a periodic grid; return false if it is outside a non-periodic one.
    [[nodiscard]] bool wrap(Index<3>& global, const Stagger& global_stagger) const {
        for (std::size_t d = 0; d < 3; ++d) {
            if (periodic_[d])
                global[d] = (global[d] % cells_[d] + cells_[d]) % cells_[d];
            else if (global[d] < 0 || global[d] >= cells_[d] + global_stagger[d])
                return false;
        }
        return true;
    }
    [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }

  private:
    /// Return a patch of a zone from its global cells next to a global face.
    [[nodiscard]] Patch patch_of(std::size_t p, Face global, const Box<3>& cells) const {
        const Part& part = parts_[p];
        Patch patch;
        patch.face.axis = part.to_own.axis(global.axis);
        const bool upper = global.is_upper() == (part.to_own.sign(global.axis) > 0);
        patch.face.side = upper ? Side::upper : Side::lower;
        for (const std::size_t d : global.along()) {
            const std::size_t e = part.to_own.axis(d);
            const std::size_t t = patch.face.along()[0] == e ? 0 : 1;
            const bool forward = part.to_own.sign(d) > 0;
            patch.range.lower[t] = forward ? cells.lower[d] - part.cells.lower[d]
                                           : part.cells.upper[d] - cells.upper[d];
            patch.range.upper[t] = patch.range.lower[t] + cells.extent(d);
        }
        return patch;
    }

    void connect_face(std::vector<Zone>& zones, std::size_t p, Face face) const {
        constexpr Vector spacing{2, 3, 5};
        const std::size_t d = face.axis;
        Box<3> outside = parts_[p].cells; // one layer of cells beyond the face
        const std::int64_t at = face.is_upper() ? outside.upper[d] : outside.lower[d] - 1;
        outside.lower[d] = at;
        outside.upper[d] = at + 1;
        Vector translation{};
        if (at < 0 || at >= cells_[d]) {
            if (!periodic_[d]) {
                zones[p].boundaries.push_back({patch_of(p, face, parts_[p].cells), "wall"});
                return;
            }
            Index<3> shift{};
            shift[d] = at < 0 ? cells_[d] : -cells_[d];
            outside = outside.shifted(shift);
            translation[d] = spacing[d] * static_cast<double>(shift[d]);
        }
        for (std::size_t q = 0; q < parts_.size(); ++q) {
            const Box<3> common = intersect(outside, parts_[q].cells);
            if (common.empty())
                continue;
            const Face other{d, face.is_upper() ? Side::lower : Side::upper};
            const Transform transform = parts_[p].to_own.inverse().then(parts_[q].to_own);
            zones[p].connections.push_back({patch_of(p, face, common), zones[q].name,
                                            patch_of(q, other, common), transform, translation});
        }
    }

    Index<3> cells_;
    std::array<bool, 3> periodic_;
    std::vector<Part> parts_;
};

} // namespace uzushio::domain
