// Worker of bench/domain.py: times the halo exchange beside loops written for the mesh and beside
// contiguous copies, and prints a line of JSON. Arguments: cells an axis and rank, repetitions.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "domain/halo_exchange.hpp"
#include "domain/halo_messages.hpp"
#include "domain/persistent_messages.hpp"
#include "domain/process_counts.hpp"

namespace {

using namespace uzushio::domain;
using uzushio::parallel::AlignedArray;

/// A periodic box of `cells`, as one zone, or as two halves whose axes differ.
std::shared_ptr<const Mesh> box_mesh(const Index<3>& cells, bool turned) {
    std::vector<Zone> zones(turned ? 2 : 1);
    const Transform transform = turned ? Transform({2, 3, 1}) : Transform();
    Index<3> half = cells;
    half[0] /= turned ? 2 : 1;
    for (std::size_t z = 0; z < zones.size(); ++z) {
        const Transform own = z == 0 ? Transform() : transform;
        zones[z].name = std::to_string(z);
        for (std::size_t a = 0; a < 3; ++a)
            zones[z].cells[own.axis(a)] = half[a];
        zones[z].coordinates = Coordinates::curvilinear(
            [own, begin = half[0] * static_cast<int>(z)](const Index<3>& v) {
                return Vector{static_cast<double>(begin + v[own.axis(0)]),
                              static_cast<double>(v[own.axis(1)]),
                              static_cast<double>(v[own.axis(2)])};
            });
        for (std::size_t a = 1; a < 3; ++a) {
            Vector period{};
            period[a] = static_cast<double>(half[a]);
            connect_periodic(zones[z], own.axis(a), period);
        }
    }
    const auto whole = [&](std::size_t z, std::size_t axis, Side side) {
        return Patch::whole({axis, side}, zones[z].cells);
    };
    const Vector period{static_cast<double>(cells[0]), 0, 0};
    const std::size_t last = zones.size() - 1;
    connect(zones[0], whole(0, 0, Side::lower), zones[last],
            whole(last, transform.axis(0), Side::upper), transform, period);
    if (turned)
        connect(zones[0], whole(0, 0, Side::upper), zones[1],
                whole(1, transform.axis(0), Side::lower), transform);
    return std::make_shared<const Mesh>(3, std::move(zones));
}

/// The same messages, each packed and unpacked by one memcpy, and one memcpy for what stays in the
/// rank.
class Least {
  public:
    Least(MPI_Comm comm, const Decomposition& decomposition, std::span<const FieldSpec> specs,
          Reach reach)
        : messages_(comm, 0) {
        const HaloMessages plan = plan_messages(comm, decomposition, specs, reach);
        const auto values = [&](const std::vector<FieldPiece>& pieces) {
            std::int64_t sum = 0;
            for (const FieldPiece& p : pieces)
                sum +=
                    p.piece.target.volume() * specs[static_cast<std::size_t>(p.field)].components;
            return static_cast<std::size_t>(sum);
        };
        for (const PieceList& list : plan.receives)
            messages_.add_receive(list.rank, add(ghosts_, values(list.pieces)));
        for (const PieceList& list : plan.sends)
            messages_.add_send(list.rank, add(owned_, values(list.pieces)));
        from_ = AlignedArray<double>(values(plan.local));
        to_ = AlignedArray<double>(values(plan.local));
    }
    void exchange() {
        messages_.begin([&](std::size_t m, double* values) {
            std::memcpy(values, owned_[m].data(), owned_[m].bytes());
        });
        if (from_.size() > 0)
            std::memcpy(to_.data(), from_.data(), from_.bytes());
        messages_.end(exchange_limit, [&](std::size_t m, const double* values) {
            std::memcpy(ghosts_[m].data(), values, ghosts_[m].bytes());
        });
    }
    [[nodiscard]] std::size_t local_bytes() const { return from_.bytes(); }

  private:
    static std::int64_t add(std::vector<AlignedArray<double>>& arrays, std::size_t values) {
        arrays.emplace_back(values);
        return static_cast<std::int64_t>(values);
    }

    std::vector<AlignedArray<double>> ghosts_, owned_;
    AlignedArray<double> from_, to_;
    PersistentMessages<double> messages_;
};

/// The same messages, packed and unpacked by nested loops over the boxes as they lie in the fields.
class Nested {
  public:
    Nested(MPI_Comm comm, const Decomposition& decomposition, std::vector<Field<double>>& fields,
           std::span<const FieldSpec> specs, Reach reach)
        : decomposition_(decomposition), fields_(fields), messages_(comm, 1) {
        MPI_Comm_rank(comm, &rank_);
        const HaloMessages plan = plan_messages(comm, decomposition, specs, reach);
        for (const FieldPiece& piece : plan.local) {
            Copy copy = copy_of(piece);
            copy.from = source(piece, copy);
            copy.to = target(piece, copy);
            local_.push_back(copy);
        }
        for (const PieceList& list : plan.receives) {
            auto& message = receives_.emplace_back();
            for (const FieldPiece& piece : list.pieces) {
                message.push_back(copy_of(piece));
                message.back().to = target(piece, message.back());
                natural(message.back(), message.back().from_strides);
            }
            messages_.add_receive(list.rank, pack_places(message));
        }
        for (const PieceList& list : plan.sends) {
            auto& message = sends_.emplace_back();
            for (const FieldPiece& piece : list.pieces) {
                message.push_back(copy_of(piece));
                message.back().from = source(piece, message.back());
                natural(message.back(), message.back().to_strides);
            }
            messages_.add_send(list.rank, pack_places(message));
        }
    }
    void exchange() {
        messages_.begin([&](std::size_t m, double* values) {
            for (const Copy& copy : sends_[m])
                run(copy, copy.from, values + copy.begin);
        });
        for (const Copy& copy : local_)
            run(copy, copy.from, copy.to);
        messages_.end(exchange_limit, [&](std::size_t m, const double* values) {
            for (const Copy& copy : receives_[m])
                run(copy, values + copy.begin, copy.to);
        });
    }

  private:
    struct Copy {
        const double* from = nullptr;
        double* to = nullptr;
        Index<3> extents{}, from_strides{}, to_strides{};
        std::int64_t components = 1, from_component = 0, to_component = 0;
        std::int64_t begin = 0;
    };
    static void run(const Copy& c, const double* from, double* to) {
        for (std::int64_t m = 0; m < c.components; ++m)
            for (std::int64_t k = 0; k < c.extents[2]; ++k)
                for (std::int64_t j = 0; j < c.extents[1]; ++j) {
                    const double* in =
                        from + m * c.from_component + k * c.from_strides[2] + j * c.from_strides[1];
                    double* out =
                        to + m * c.to_component + k * c.to_strides[2] + j * c.to_strides[1];
                    if (c.extents[0] == 2) {
                        out[0] = in[0];
                        out[c.to_strides[0]] = in[c.from_strides[0]];
                    } else if (c.from_strides[0] == 1 && c.to_strides[0] == 1) {
                        std::memcpy(out, in, 8 * static_cast<std::size_t>(c.extents[0]));
                    } else {
                        for (std::int64_t i = 0; i < c.extents[0]; ++i)
                            out[i * c.to_strides[0]] = in[i * c.from_strides[0]];
                    }
                }
    }
    static Copy copy_of(const FieldPiece& piece) {
        Copy copy;
        copy.extents = piece.piece.target.extents();
        return copy;
    }
    View<double> view(const FieldPiece& piece, int block) {
        const auto mine = decomposition_.blocks_of(rank_);
        const auto local =
            static_cast<std::size_t>(std::find(mine.begin(), mine.end(), block) - mine.begin());
        return fields_[static_cast<std::size_t>(piece.field)].view(local);
    }
    double* target(const FieldPiece& piece, Copy& copy) {
        const auto array = view(piece, piece.target_block);
        copy.to_strides = array.strides();
        copy.to_component = array.component_stride();
        copy.components = array.components();
        return &array(piece.piece.target.lower);
    }
    const double* source(const FieldPiece& piece, Copy& copy) {
        const auto array = view(piece, piece.piece.source_block);
        const Index<3>& first = piece.piece.target.lower;
        for (std::size_t a = 0; a < 3; ++a)
            copy.from_strides[a] =
                piece.piece.map.sign[a] * array.strides()[piece.piece.map.axis[a]];
        copy.from_component = array.component_stride();
        copy.components = array.components();
        return &array(
            piece.piece.map.apply({first, {first[0] + 1, first[1] + 1, first[2] + 1}}, {}).lower);
    }
    /// Strides of a box without gaps.
    static void natural(Copy& copy, Index<3>& strides) {
        strides = {1, copy.extents[0], copy.extents[0] * copy.extents[1]};
        (&strides == &copy.to_strides ? copy.to_component : copy.from_component) =
            strides[2] * copy.extents[2];
    }
    static std::int64_t pack_places(std::vector<Copy>& message) {
        std::int64_t values = 0;
        for (Copy& copy : message) {
            copy.begin = values;
            values += copy.extents[0] * copy.extents[1] * copy.extents[2] * copy.components;
        }
        return values;
    }

    const Decomposition& decomposition_;
    std::vector<Field<double>>& fields_;
    int rank_ = 0;
    std::vector<Copy> local_;
    std::vector<std::vector<Copy>> receives_, sends_;
    PersistentMessages<double> messages_;
};

/// Least seconds of an exchange, of the slowest rank, of ways that take turns.
std::vector<double> times(const std::vector<std::function<void()>>& ways, int repeats) {
    constexpr int rounds = 10;
    std::vector<double> least(ways.size(), std::numeric_limits<double>::max());
    for (int repeat = 0; repeat < repeats; ++repeat)
        for (std::size_t w = 0; w < ways.size(); ++w) {
            MPI_Barrier(MPI_COMM_WORLD);
            const double start = MPI_Wtime();
            for (int round = 0; round < rounds; ++round)
                ways[w]();
            double taken = (MPI_Wtime() - start) / rounds;
            MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            least[w] = std::min(least[w], taken);
        }
    return least;
}

nlohmann::json measure(std::int64_t n, int repeats, bool turned, Reach reach) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const PartCounts counts = min_surface_counts({64, 64, 64}, ranks, {true, true, true});
    const auto mesh = box_mesh({n * counts[0], n * counts[1], n * counts[2]}, turned);
    const auto decomposition =
        turned ? Decomposition::multiblock(mesh, ranks) : Decomposition::cartesian(mesh, ranks);
    const std::vector<FieldSpec> specs{
        {"velocity", 3, 2}, {"pressure", 1, 2}, {"temperature", 1, 2}};
    std::vector<Field<double>> fields;
    for (const FieldSpec& spec : specs)
        fields.emplace_back(decomposition, rank, spec);
    std::vector<Field<double>*> pointers;
    for (Field<double>& field : fields)
        pointers.push_back(&field);
    uzushio::parallel::Traffic traffic;
    HaloExchange<double> halo(MPI_COMM_WORLD, decomposition, specs, reach, traffic);
    Least least(MPI_COMM_WORLD, decomposition, specs, reach);
    Nested nested(MPI_COMM_WORLD, decomposition, fields, specs, reach);
    const auto seconds = times(
        {[&] { halo.exchange(pointers); }, [&] { least.exchange(); }, [&] { nested.exchange(); }},
        repeats);
    const std::string zones = turned ? "two zones, axes turned" : "one zone";
    return {{"case", zones + (reach == Reach::faces ? ", faces" : ", corners")},
            {"ours", seconds[0]},
            {"least", seconds[1]},
            {"nested", seconds[2]},
            {"messages", halo.messages()},
            {"bytes", halo.bytes()},
            {"local_bytes", least.local_bytes()},
            {"imbalance", decomposition.imbalance()}};
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const std::int64_t n = argc > 1 ? std::atoi(argv[1]) : 64;
    const int repeats = argc > 2 ? std::atoi(argv[2]) : 20;
    auto results = nlohmann::json::array();
    for (const bool turned : {false, true})
        for (const Reach reach : {Reach::faces, Reach::corners})
            results.push_back(measure(n, repeats, turned, reach));
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        std::cout << results << std::endl;
    MPI_Finalize();
    return 0;
}
