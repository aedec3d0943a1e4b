#include "domain/ghost_sources.hpp"

#include "domain/beyond.hpp"

namespace uzushio::domain {
namespace {

constexpr int max_connections = 16; ///< across which one ghost is looked for
/// Search for the sources of one box.
class Search {
  public:
    Search(const Mesh& mesh, const Stagger& stagger, std::vector<GhostSource>& sources)
        : mesh_(mesh), stagger_(stagger), sources_(sources) {}

    /// `at.target` are indices of the first zone; returns those that were not found.
    BoxSet<3> find(const GhostSource& at, int crossed) {
        const Index<3>& cells = mesh_.zone(at.zone).cells;
        const Stagger stagger = at.map.apply_to_stagger(stagger_);
        const Box<3> here = at.map.apply(at.target, stagger_);
        const Box<3> inside = intersect(here, staggered(Box<3>::of(cells), stagger));
        if (!inside.empty())
            sources_.push_back({back(at, inside), at.zone, at.map, at.translation});
        BoxSet<3> open;
        subtract(here, inside, open);
        if (crossed < max_connections)
            for (const Face face : faces(mesh_.dimension()))
                for (const Mesh::Link& link : mesh_.links(at.zone))
                    if (link.patch.face == face && !open.empty())
                        open = cross(at, link, beyond(link.patch, cells, stagger), open, crossed);
        for (Box<3>& box : open)
            box = back(at, box);
        return open;
    }

  private:
    [[nodiscard]] Box<3> back(const GhostSource& at, const Box<3>& box) const {
        return at.map.apply_inverse(box, stagger_);
    }

    BoxSet<3> cross(const GhostSource& at, const Mesh::Link& link, const Box<3>& covered,
                    const BoxSet<3>& open, int crossed) {
        BoxSet<3> rest;
        for (const Box<3>& box : open) {
            const Box<3> part = intersect(box, covered);
            subtract(box, part, rest);
            if (part.empty())
                continue;
            GhostSource next{back(at, part), link.donor, at.map.then(link.map), at.translation};
            for (std::size_t a = 0; a < 3; ++a)
                next.translation[a] += link.translation[a];
            for (const Box<3>& missing : find(next, crossed + 1))
                rest.push_back(at.map.apply(missing, stagger_));
        }
        return rest;
    }

    const Mesh& mesh_;
    const Stagger& stagger_;
    std::vector<GhostSource>& sources_;
};

} // namespace

BoxSet<3> find_sources(const Mesh& mesh, int zone, const Stagger& stagger, const Box<3>& box,
                       std::vector<GhostSource>& sources) {
    return Search(mesh, stagger, sources).find({box, zone, {}, {}}, 0);
}

} // namespace uzushio::domain
