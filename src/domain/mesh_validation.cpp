#include "domain/mesh_validation.hpp"

#include <cmath>
#include <map>
#include <string>

#include "domain/box_set.hpp"
#include "domain/mesh_error.hpp"

namespace uzushio::domain {
namespace {

std::string place(const Zone& zone, const Patch& patch) {
    return "zone '" + zone.name + "', " + patch.text();
}

std::string donor_place(const Connection& c) {
    return "zone '" + c.donor + "', " + c.donor_patch.text();
}

std::string extents_text(const Index<3>& cells) {
    return std::to_string(cells[0]) + " x " + std::to_string(cells[1]) + " x " +
           std::to_string(cells[2]);
}

std::string position_text(const Vector& position) {
    std::string text;
    for (const double component : position)
        text.append(text.empty() ? "(" : ", ").append(std::to_string(component));
    return text.append(")");
}

/// Checks of one mesh; each throws at the first inconsistency.
class Validation {
  public:
    Validation(int dimension, const std::vector<Zone>& zones)
        : dimension_(dimension), zones_(zones) {}

    void run() {
        if (dimension_ < 1 || dimension_ > 3)
            throw MeshError("a mesh has 1, 2 or 3 dimensions, not " + std::to_string(dimension_));
        for (const Zone& zone : zones_)
            check_zone(zone);
        for (const Zone& zone : zones_)
            check_coverage(zone);
        for (const Zone& zone : zones_)
            for (const Connection& c : zone.connections) {
                check_transform(zone, c);
                check_reverse(zone, c);
                check_vertices(zone, c);
            }
    }

  private:
    void check_zone(const Zone& zone) {
        if (zone.name.empty())
            throw MeshError("a zone has no name");
        if (!numbers_.emplace(zone.name, &zone).second)
            throw MeshError("two zones have the name '" + zone.name + "'");
        for (std::size_t a = 0; a < 3; ++a) {
            const bool active = a < static_cast<std::size_t>(dimension_);
            if (zone.cells[a] < 1 || (!active && zone.cells[a] != 1))
                throw MeshError("zone '" + zone.name + "' has " + extents_text(zone.cells) +
                                " cells; along " + "ijk"[a] + " there must be " +
                                (active ? "at least one" : "one, beyond the mesh's dimensions"));
        }
        if (!zone.coordinates.fits(zone.cells))
            throw MeshError("zone '" + zone.name + "' has " + extents_text(zone.cells) +
                            " cells, and coordinates of another number of vertices");
    }

    void check_patch(const Zone& zone, const Patch& patch, const std::string& where) const {
        if (patch.face.axis >= static_cast<std::size_t>(dimension_))
            throw MeshError(where + ": the mesh has " + std::to_string(dimension_) +
                            " dimensions, and no such face");
        const Box<2> face = Patch::whole(patch.face, zone.cells).range;
        if (patch.range.empty() || !face.contains(patch.range))
            throw MeshError(where + ": the range must have cells and lie within the face, " +
                            Patch{patch.face, face}.text());
    }

    /// Subtract each patch from its face: cells that were subtracted before are covered twice,
    /// cells that remain are not covered.
    void check_coverage(const Zone& zone) const {
        for (const BoundaryPatch& b : zone.boundaries) {
            check_patch(zone, b.patch, place(zone, b.patch));
            if (b.condition.empty())
                throw MeshError(place(zone, b.patch) + ": the boundary condition has no name");
        }
        for (const Connection& c : zone.connections)
            check_patch(zone, c.patch, place(zone, c.patch));
        for (const Face face : faces(dimension_)) {
            BoxSet<2> covered;
            for (const Patch& patch : patches_on(zone, face)) {
                for (const Box<2>& other : covered)
                    if (overlap(other, patch.range))
                        throw MeshError(place(zone, {face, intersect(other, patch.range)}) +
                                        ": two boundary conditions or connections cover it");
                covered.push_back(patch.range);
            }
            BoxSet<2> open{Patch::whole(face, zone.cells).range};
            for (const Box<2>& range : covered)
                subtract(open, range);
            if (!open.empty())
                throw MeshError(place(zone, {face, open.front()}) +
                                ": no boundary condition or connection covers it");
        }
    }

    static std::vector<Patch> patches_on(const Zone& zone, Face face) {
        std::vector<Patch> patches;
        for (const BoundaryPatch& b : zone.boundaries)
            if (b.patch.face == face)
                patches.push_back(b.patch);
        for (const Connection& c : zone.connections)
            if (c.patch.face == face)
                patches.push_back(c.patch);
        return patches;
    }

    void check_transform(const Zone& zone, const Connection& c) const {
        const auto donor = numbers_.find(c.donor);
        if (donor == numbers_.end())
            throw MeshError(place(zone, c.patch) + ": connected to zone '" + c.donor +
                            "', which does not exist");
        check_patch(*donor->second, c.donor_patch,
                    place(zone, c.patch) + ": connected to " + donor_place(c));
        const std::string where =
            place(zone, c.patch) + ": the transform " + c.transform.text() + " ";
        for (std::size_t a = static_cast<std::size_t>(dimension_); a < 3; ++a)
            if (c.transform.vector()[a] != static_cast<int>(a + 1))
                throw MeshError(where + "moves an axis beyond the mesh's dimensions");
        const std::size_t normal = c.patch.face.axis;
        // An index that leaves through an upper face and enters through a lower one increases on
        // both axes.
        const int direction = c.patch.face.side == c.donor_patch.face.side ? -1 : 1;
        if (c.transform.axis(normal) != c.donor_patch.face.axis ||
            c.transform.sign(normal) != direction)
            throw MeshError(where + "does not lead into " + donor_place(c));
        const auto along = c.patch.face.along();
        const auto donor_along = c.donor_patch.face.along();
        for (std::size_t t = 0; t < 2; ++t) {
            const std::size_t u = donor_along[0] == c.transform.axis(along[t]) ? 0 : 1;
            if (c.patch.range.extent(t) != c.donor_patch.range.extent(u))
                throw MeshError(where + "joins " + std::to_string(c.patch.range.extent(t)) +
                                " cells along " + "ijk"[along[t]] + " to " +
                                std::to_string(c.donor_patch.range.extent(u)) + " of " +
                                donor_place(c));
        }
    }

    void check_reverse(const Zone& zone, const Connection& c) const {
        for (const Connection& other : numbers_.at(c.donor)->connections) {
            if (other.donor != zone.name || !(other.patch == c.donor_patch) ||
                !(other.donor_patch == c.patch))
                continue;
            if (!(other.transform == c.transform.inverse()))
                throw MeshError(place(zone, c.patch) + ": the transform " + c.transform.text() +
                                " is not the inverse of " + other.transform.text() + " from " +
                                donor_place(c));
            for (std::size_t a = 0; a < 3; ++a)
                if (std::abs(other.translation[a] + c.translation[a]) >
                    1e-12 * std::abs(c.translation[a]))
                    throw MeshError(place(zone, c.patch) + ": the translation " +
                                    position_text(c.translation) + " is not the opposite of " +
                                    position_text(other.translation) + " from " + donor_place(c));
            return;
        }
        throw MeshError(place(zone, c.patch) + ": " + donor_place(c) +
                        " has no connection back to it");
    }

    /// Vertices coincide within a millionth of the patch's maximum extent along an axis.
    void check_vertices(const Zone& zone, const Connection& c) const {
        const Zone& donor = *numbers_.at(c.donor);
        const IndexMap map =
            IndexMap::across(c.patch, zone.cells, c.donor_patch, donor.cells, c.transform);
        Stagger stagger{}; // lower vertices suffice along unused axes, which have one cell
        for (std::size_t a = 0; a < static_cast<std::size_t>(dimension_); ++a)
            stagger[a] = 1;
        Box<3> vertices = c.patch.layer(Box<3>::of(zone.cells));
        for (const std::size_t a : c.patch.face.along())
            vertices.upper[a] += stagger[a];
        const std::int64_t plane = c.patch.face.is_upper() ? zone.cells[c.patch.face.axis] : 0;
        vertices.lower[c.patch.face.axis] = plane;
        vertices.upper[c.patch.face.axis] = plane + 1;

        const double tolerance = 1e-6 * size_of(zone, vertices);
        for_indices(vertices, [&](const Index<3>& index) {
            const Box<3> vertex = Box<3>::at(index, {1, 1, 1});
            const Vector here = zone.coordinates.vertex(index);
            const Vector position = donor.coordinates.vertex(map.apply(vertex, stagger).lower);
            for (std::size_t a = 0; a < 3; ++a)
                if (!(std::abs(here[a] + c.translation[a] - position[a]) <= tolerance))
                    throw MeshError(place(zone, c.patch) + ": its vertex " + to_string(vertex) +
                                    " at " + position_text(here) + " does not meet that of " +
                                    donor_place(c) + " at " + position_text(position));
        });
    }

    static double size_of(const Zone& zone, const Box<3>& vertices) {
        double size = 0;
        const Vector first = zone.coordinates.vertex(vertices.lower);
        for (int corner = 1; corner < 8; ++corner) {
            const Vector other =
                zone.coordinates.vertex({corner & 1 ? vertices.upper[0] - 1 : vertices.lower[0],
                                         corner & 2 ? vertices.upper[1] - 1 : vertices.lower[1],
                                         corner & 4 ? vertices.upper[2] - 1 : vertices.lower[2]});
            for (std::size_t a = 0; a < 3; ++a)
                size = std::max(size, std::abs(other[a] - first[a]));
        }
        return size;
    }

    int dimension_;
    const std::vector<Zone>& zones_;
    std::map<std::string, const Zone*> numbers_;
};

} // namespace

void validate(int dimension, const std::vector<Zone>& zones) { Validation(dimension, zones).run(); }

} // namespace uzushio::domain
