#include "domain/flux_form.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "domain/parts.hpp"
#include "domain/persistent_messages.hpp"
#include "parallel/aligned_array.hpp"
#include "parallel/communicator.hpp"
#include "parallel/compensated_sum.hpp"

namespace uzushio::domain {
namespace {

constexpr int tag = 24;

/// Sides of a block's cells that lie in a face of its zone, with their last fluxes.
class FacePlane {
  public:
    FacePlane(Face face, const Box<3>& sides, int components)
        : face_(face), sides_(sides),
          fluxes_(static_cast<std::size_t>(sides.volume() * components)),
          view_(fluxes_.data(), sides, components) {}

    [[nodiscard]] const Face& face() const { return face_; }
    [[nodiscard]] const Box<3>& sides() const { return sides_; }
    [[nodiscard]] const View<double>& fluxes() const { return view_; }

  private:
    Face face_;
    Box<3> sides_;
    parallel::AlignedArray<double> fluxes_;
    View<double> view_;
};

/// Return the sides in a face of the zone of the cells `layer` beside it.
Box<3> sides_of(Box<3> layer, const Face& face) {
    const std::int64_t plane = face.is_upper() ? layer.upper[face.axis] : layer.lower[face.axis];
    layer.lower[face.axis] = plane;
    layer.upper[face.axis] = plane + 1;
    return layer;
}

/// Return whether a block has sides in a face of its zone.
bool touches(const Box<3>& cells, const Face& face, const Index<3>& zone_cells) {
    return face.is_upper() ? cells.upper[face.axis] == zone_cells[face.axis]
                           : cells.lower[face.axis] == 0;
}

/// Fluxes of one block that replace those of another.
struct Piece {
    int target = 0, source = 0;                   ///< blocks
    std::size_t target_face = 0, source_face = 0; ///< as `code`
    Box<3> sides;                                 ///< of the target
    IndexMap map;                                 ///< to the source's sides
    double sign = 1;

    [[nodiscard]] std::int64_t values(int components) const { return sides.volume() * components; }
};

std::size_t code(const Face& face) { return 2 * face.axis + (face.is_upper() ? 1 : 0); }

Stagger stagger_of(const Face& face) {
    Stagger stagger{};
    stagger[face.axis] = 1;
    return stagger;
}

/// Return all pieces of a mesh that a rank has a block of, in the same order on all ranks. Without
/// a rank, return those of all ranks.
std::vector<Piece> pieces_of(const Decomposition& decomposition, std::optional<int> rank) {
    const Mesh& mesh = decomposition.mesh();
    std::vector<Piece> pieces;
    for (int z = 0; z < static_cast<int>(mesh.zones().size()); ++z) {
        const Zone& zone = mesh.zone(z);
        for (const Mesh::Link& link : mesh.links(z)) {
            const Face& face = link.patch.face;
            const Box<3> layer = link.patch.layer(Box<3>::of(zone.cells));
            const Box<3> donor_sides = link.map.apply(sides_of(layer, face), stagger_of(face));
            const std::size_t axis = link.map.axis[face.axis];
            const Face other{axis, donor_sides.lower[axis] == 0 ? Side::lower : Side::upper};
            // The fluxes of the lower zone and face hold.
            if (std::tuple(link.donor, code(other)) >= std::tuple(z, code(face)))
                continue;
            for (const int target : decomposition.find(z, layer)) {
                const Box<3> cells = intersect(layer, decomposition.block(target).cells);
                const Box<3> sides = sides_of(cells, face);
                const Box<3> wanted = link.map.apply(sides, stagger_of(face));
                Box<3> donor_layer = wanted; // cells beside these sides
                if (other.is_upper()) {
                    --donor_layer.lower[axis];
                    --donor_layer.upper[axis];
                }
                for (const int source : decomposition.find(link.donor, donor_layer)) {
                    if (rank && decomposition.block(target).rank != *rank &&
                        decomposition.block(source).rank != *rank)
                        continue;
                    const Box<3> given =
                        sides_of(intersect(donor_layer, decomposition.block(source).cells), other);
                    pieces.push_back({target, source, code(face), code(other),
                                      link.map.apply_inverse(given, stagger_of(face)), link.map,
                                      static_cast<double>(link.map.sign[face.axis])});
                }
            }
        }
    }
    return pieces;
}

} // namespace

class FluxForm::Implementation {
  public:
    Implementation(MPI_Comm comm, const Decomposition& decomposition, int rank, int components,
                   const Geometry& geometry, parallel::Traffic& traffic)
        : comm_(parallel::Communicator::duplicate(comm)), decomposition_(decomposition),
          rank_(rank), components_(components), geometry_(geometry), traffic_(traffic),
          local_(decomposition.blocks().size()) {
        std::size_t count = 0;
        for (const int id : decomposition.blocks_of(rank)) {
            local_[static_cast<std::size_t>(id)] = count++;
            const Block& block = decomposition.block(id);
            auto& planes = planes_.emplace_back();
            const Index<3>& zone_cells = decomposition.mesh().zone(block.zone).cells;
            for (const Face& face : faces(decomposition.mesh().dimension()))
                if (touches(block.cells, face, zone_cells))
                    planes.emplace(
                        code(face),
                        FacePlane(face,
                                  sides_of(Patch::whole(face, zone_cells).layer(block.cells), face),
                                  components));
        }
        plan();
        begin_outflows();
    }

    void divergence(std::size_t local, const View<double>& derivative, const RowFlux& flux) {
        const Box<3>& cells = decomposition_.block(decomposition_.blocks_of(rank_)[local]).cells;
        const View<const double> volumes = geometry_.volumes(local);
        for_numbered_parts(cells, [&](std::size_t number, const Box<3>& part) {
            if (part.empty())
                return;
            for (int axis = 0; axis < decomposition_.mesh().dimension(); ++axis)
                add_axis(static_cast<std::size_t>(axis), {local, number, part}, derivative, flux);
            for (int c = 0; c < components_; ++c)
                for_rows(part, [&](const Index<3>& first, std::int64_t size) {
                    double* const row = &derivative(first, c);
                    const double* const volume = &volumes(first);
                    for (std::int64_t n = 0; n < size; ++n)
                        row[n] /= volume[n];
                });
        });
    }

    void equalize(std::span<const View<double>> derivatives) {
        if (derivatives.size() != planes_.size())
            throw std::invalid_argument("derivatives are not those of this rank's blocks");
        messages_.begin([&](std::size_t m, double* out) {
            for (const Piece& piece : sends_[m])
                for_values(piece, [&](const Index<3>&, double value, int) { *out++ = value; });
        });
        for (const Piece& piece : local_pieces_)
            for_values(piece, [&](const Index<3>& side, double value, int c) {
                replace(derivatives, piece, side, value, c);
            });
        messages_.end(exchange_limit, [&](std::size_t m, const double* in) {
            for (const Piece& piece : receives_[m])
                for (int c = 0; c < components_; ++c)
                    for_indices(piece.sides, [&](const Index<3>& side) {
                        replace(derivatives, piece, side, *in++, c);
                    });
        });
        traffic_.add(parallel::Exchange::halo, messages_.sent(), messages_.sent_bytes());
    }

    void add_outflows(double weight, bool is_first) {
        const Mesh& mesh = decomposition_.mesh();
        if (is_first)
            begin_outflows();
        for (std::size_t b = 0; b < planes_.size(); ++b) {
            const Block& block = decomposition_.block(decomposition_.blocks_of(rank_)[b]);
            for (const BoundaryPatch& boundary : mesh.zone(block.zone).boundaries) {
                const auto plane = planes_[b].find(code(boundary.patch.face));
                if (plane == planes_[b].end())
                    continue;
                const Face& face = boundary.patch.face;
                const Box<3> sides = intersect(
                    plane->second.sides(),
                    sides_of(boundary.patch.layer(Box<3>::of(mesh.zone(block.zone).cells)), face));
                for (int c = 0; c < components_; ++c)
                    for_indices(sides, [&](const Index<3>& side) {
                        const double flux = plane->second.fluxes()(side, c);
                        outflows_[boundary.condition][static_cast<std::size_t>(c)].add(
                            weight * (face.is_upper() ? flux : -flux));
                    });
            }
        }
    }

    void add_outflow(const std::string& condition, int component, double value) {
        outflows_.at(condition)[static_cast<std::size_t>(component)].add(value);
    }

    [[nodiscard]] std::map<std::string, std::vector<double>> outflows() const {
        std::map<std::string, std::vector<double>> result;
        for (const auto& [condition, of_condition] : outflows_) {
            auto& values = result[condition];
            values.resize(of_condition.size());
            parallel::sum_over_ranks(of_condition.data(), values.data(), values.size(),
                                     comm_.get());
        }
        return result;
    }

  private:
    void begin_outflows() {
        for (const Zone& zone : decomposition_.mesh().zones())
            for (const BoundaryPatch& patch : zone.boundaries)
                outflows_[patch.condition].assign(static_cast<std::size_t>(components_), {});
    }

    void plan() {
        std::map<int, std::vector<Piece>> sends, receives;
        for (Piece& piece : pieces_of(decomposition_, rank_)) {
            const int to = decomposition_.block(piece.target).rank;
            const int from = decomposition_.block(piece.source).rank;
            if (to == from)
                local_pieces_.push_back(piece);
            else if (from == rank_)
                sends[to].push_back(piece);
            else
                receives[from].push_back(piece);
        }
        const auto values = [&](const std::vector<Piece>& pieces) {
            std::int64_t sum = 0;
            for (const Piece& piece : pieces)
                sum += piece.values(components_);
            return sum;
        };
        for (auto& [peer, pieces] : receives) {
            messages_.add_receive(peer, values(pieces));
            receives_.push_back(std::move(pieces));
        }
        for (auto& [peer, pieces] : sends) {
            messages_.add_send(peer, values(pieces));
            sends_.push_back(std::move(pieces));
        }
    }

    /// Cells of a block whose derivatives one thread computes.
    struct Part {
        std::size_t block, number;
        Box<3> cells;
    };

    /// Add what flows into cells along an axis; the first axis sets the sum. Parts compute the
    /// fluxes through the sides between them twice.
    void add_axis(std::size_t axis, const Part& part, const View<double>& derivative,
                  const RowFlux& flux) {
        const auto& [local, number, cells] = part;
        const std::size_t length = static_cast<std::size_t>(cells.extent(0)) + 1;
        const auto components = static_cast<std::size_t>(components_);
        std::array<std::vector<double>, 2> values;
        std::array<std::vector<double*>, 2> rows;
        for (std::size_t r = 0; r < 2; ++r) {
            values[r].resize(components * length);
            for (std::size_t c = 0; c < components; ++c)
                rows[r].push_back(values[r].data() + c * length);
        }
        if (axis == 0) {
            for_rows(cells,
                     [&, local = local, number = number](const Index<3>& first, std::int64_t size) {
                         flux(number, 0, first, size + 1, rows[0].data());
                         keep(local, 0, first, size + 1, rows[0]);
                         for (std::size_t c = 0; c < components; ++c) {
                             double* const out = &derivative(first, static_cast<int>(c));
                             const double* const f = rows[0][c];
                             for (std::int64_t n = 0; n < size; ++n)
                                 out[n] = f[n] - f[n + 1];
                         }
                     });
            return;
        }
        const std::size_t other = 3 - axis; // the outer loop
        const std::int64_t size = cells.extent(0);
        Index<3> first = cells.lower;
        for (first[other] = cells.lower[other]; first[other] < cells.upper[other]; ++first[other])
            for (first[axis] = cells.lower[axis]; first[axis] <= cells.upper[axis]; ++first[axis]) {
                flux(number, axis, first, size, rows[1].data());
                keep(local, axis, first, size, rows[1]);
                if (first[axis] > cells.lower[axis]) {
                    const Index<3> below = moved(first, axis, -1);
                    for (std::size_t c = 0; c < components; ++c) {
                        double* const out = &derivative(below, static_cast<int>(c));
                        const double* const lower = rows[0][c];
                        const double* const upper = rows[1][c];
                        for (std::int64_t n = 0; n < size; ++n)
                            out[n] += lower[n] - upper[n];
                    }
                }
                std::swap(rows[0], rows[1]);
            }
    }

    /// Keep the fluxes of a row that lie in faces of the zone.
    void keep(std::size_t local, std::size_t axis, const Index<3>& first, std::int64_t size,
              const std::vector<double*>& row) {
        for (const Side side : {Side::lower, Side::upper}) {
            const auto entry = planes_[local].find(code({axis, side}));
            if (entry == planes_[local].end())
                continue;
            const FacePlane& plane = entry->second;
            const std::int64_t at = plane.sides().lower[axis];
            const std::int64_t skipped = axis == 0 ? at - first[0] : 0;
            if (axis != 0 && first[axis] != at)
                continue;
            Index<3> side_index = first;
            side_index[0] += skipped;
            const std::int64_t count = axis == 0 ? 1 : size;
            for (std::size_t c = 0; c < row.size(); ++c)
                std::copy_n(row[c] + skipped, count,
                            &plane.fluxes()(side_index, static_cast<int>(c)));
        }
    }

    [[nodiscard]] const FacePlane& plane(int block, std::size_t face) const {
        return planes_[local_[static_cast<std::size_t>(block)]].at(face);
    }

    /// Call `visit(target side, value, component)` for the fluxes of a piece, from its source.
    template <class Visit> void for_values(const Piece& piece, Visit&& visit) const {
        const View<double>& source = plane(piece.source, piece.source_face).fluxes();
        Stagger stagger{};
        stagger[piece.target_face / 2] = 1;
        for (int c = 0; c < components_; ++c)
            for_indices(piece.sides, [&](const Index<3>& side) {
                const Box<3> unit{side, {side[0] + 1, side[1] + 1, side[2] + 1}};
                visit(side, piece.sign * source(piece.map.apply(unit, stagger).lower, c), c);
            });
    }

    /// Change the derivative of the cell beside a side by another flux through it.
    void replace(std::span<const View<double>> derivatives, const Piece& piece,
                 const Index<3>& side, double flux, int c) const {
        const std::size_t local = local_[static_cast<std::size_t>(piece.target)];
        const FacePlane& own = plane(piece.target, piece.target_face);
        const std::size_t axis = own.face().axis;
        const bool upper = own.face().is_upper();
        const Index<3> cell = upper ? moved(side, axis, -1) : side;
        double& mine = own.fluxes()(side, c);
        const double change = (flux - mine) / geometry_.volumes(local)(cell);
        derivatives[local](cell, c) += upper ? -change : change;
        mine = flux;
    }

    parallel::Communicator comm_;
    const Decomposition& decomposition_;
    int rank_;
    int components_;
    const Geometry& geometry_;
    parallel::Traffic& traffic_;
    std::vector<std::size_t> local_; ///< by block id: its place among this rank's blocks
    std::vector<std::map<std::size_t, FacePlane>> planes_; ///< by block of this rank, and face
    std::map<std::string, std::vector<parallel::CompensatedSum>> outflows_; ///< of this rank
    std::vector<Piece> local_pieces_;
    std::vector<std::vector<Piece>> sends_, receives_; ///< by message
    PersistentMessages<double> messages_{comm_.get(), tag};
};

FluxForm::FluxForm(MPI_Comm comm, const Decomposition& decomposition, int rank, int components,
                   const Geometry& geometry, parallel::Traffic& traffic)
    : implementation_(std::make_unique<Implementation>(comm, decomposition, rank, components,
                                                       geometry, traffic)) {}
FluxForm::~FluxForm() = default;

void FluxForm::divergence(std::size_t block, const View<double>& derivative, const RowFlux& flux) {
    implementation_->divergence(block, derivative, flux);
}
void FluxForm::equalize(std::span<const View<double>> derivatives) {
    implementation_->equalize(derivatives);
}
void FluxForm::add_outflows(double weight, bool is_first) {
    implementation_->add_outflows(weight, is_first);
}
void FluxForm::add_outflow(const std::string& condition, int component, double value) {
    implementation_->add_outflow(condition, component, value);
}
std::map<std::string, std::vector<double>> FluxForm::outflows() const {
    return implementation_->outflows();
}

HaloVolume FluxForm::volume(const Decomposition& decomposition, int components) {
    std::map<std::pair<int, int>, std::int64_t> messages; // bytes by source and target
    for (const Piece& piece : pieces_of(decomposition, std::nullopt)) {
        const int from = decomposition.block(piece.source).rank;
        const int to = decomposition.block(piece.target).rank;
        if (from != to)
            messages[{from, to}] +=
                piece.values(components) * static_cast<std::int64_t>(sizeof(double));
    }
    std::map<int, HaloVolume> ranks;
    HaloVolume result;
    for (const auto& [ends, bytes] : messages) {
        HaloVolume& sent = ranks[ends.first];
        result.messages += 1;
        result.bytes += bytes;
        result.max_rank_messages = std::max(result.max_rank_messages, ++sent.messages);
        result.max_rank_bytes = std::max(result.max_rank_bytes, sent.bytes += bytes);
    }
    return result;
}

} // namespace uzushio::domain
