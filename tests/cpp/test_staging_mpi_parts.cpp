// ranks: 2 3 4
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "staging/copy.hpp"
#include "staging/mpi/tiles.hpp"
#include "staging/reader.hpp"
#include "staging/share.hpp"
#include "staging/staging_error.hpp"
#include "staging/writer.hpp"

namespace uzushio::staging {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto long_enough = 60s;

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
int world_size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/// The ranks of one job as several programs: so many in each.
class Programs {
  public:
    explicit Programs(std::vector<int> sizes) {
        int end = 0;
        for (const int size : sizes) {
            end += size;
            which_ += world_rank() >= end ? 1 : 0;
        }
        MPI_Comm_split(MPI_COMM_WORLD, which_, world_rank(), &comm_);
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &size_);
    }
    Programs(const Programs&) = delete;
    Programs& operator=(const Programs&) = delete;
    ~Programs() {
        MPI_Comm_free(&comm_);
        MPI_Barrier(MPI_COMM_WORLD); // of the tests, not of staging
    }

    [[nodiscard]] int which() const { return which_; }
    [[nodiscard]] bool writes() const { return which_ == 0; }
    [[nodiscard]] MPI_Comm comm() const { return comm_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

  private:
    int which_ = 0;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
};

EngineOptions options(MpiMode mode) {
    EngineOptions options;
    options.engine = "mpi";
    options.mpi.mode = mode;
    options.queue.policy = QueuePolicy::block;
    options.queue.depth = 3;
    options.queue.time_limit = long_enough;
    options.wait_for_readers = 1;
    options.wait_limit = long_enough;
    options.close_limit = long_enough;
    return options;
}

const char* name_of(MpiMode mode) {
    switch (mode) {
    case MpiMode::two_sided:
        return "two_sided";
    case MpiMode::push:
        return "push";
    case MpiMode::pull:
        return "pull";
    }
    return "";
}

constexpr std::array modes{MpiMode::two_sided, MpiMode::push, MpiMode::pull};

/// A field on a box of elements: p is a scalar that lies with ghost layers and a gap after each
/// row, u has three components, one after the other.
struct Domain {
    Box all{{}, {24, 20, 50}};

    static double p(std::int64_t step, std::int64_t z, std::int64_t y, std::int64_t x) {
        return static_cast<double>(step * 1'000'000'000 + z * 1'000'000 + y * 1000 + x);
    }
    static float u(std::int64_t step, std::int64_t z, std::int64_t y, std::int64_t x, int c) {
        return static_cast<float>(c * 100'000 + z * 4000 + y * 60 + x + 7 * step);
    }
};

/// What a rank of the solver holds: slabs along z, two blocks a rank.
class Solver {
  public:
    Solver(const std::string& stream, const Programs& programs, const EngineOptions& options,
           const Domain& domain = {})
        : domain_(domain), writer_(stream, programs.comm(), options) {
        writer_.uniform_mesh("mesh", domain.all, {0, 0, 0}, {1, 1, 1});
        writer_.field("p", "mesh", Association::element, ScalarType::float64);
        writer_.field("u", "mesh", Association::element, ScalarType::float32, 3);
        const std::int64_t parts = 2 * programs.size();
        for (int b = 0; b < 2; ++b) {
            const std::int64_t part = 2 * programs.rank() + b;
            Box owned = domain.all;
            owned.start[0] = domain.all.count[0] * part / parts;
            owned.count[0] = domain.all.count[0] * (part + 1) / parts - owned.start[0];
            writer_.block(static_cast<std::uint64_t>(part), "mesh", owned);
            blocks_.push_back({static_cast<std::uint64_t>(part), owned, {}, {}});
        }
    }

    std::optional<std::uint64_t> publish(std::int64_t step) {
        writer_.begin_step(step, 0.5 * static_cast<double>(step));
        for (auto& block : blocks_)
            put(block, step);
        return writer_.end_step();
    }
    Writer& writer() { return writer_; }

  private:
    struct Held {
        std::uint64_t id;
        Box owned;
        std::vector<double> p;
        std::vector<float> u;
    };

    void put(Held& held, std::int64_t step) {
        const Ghosts ghosts{{1, 2, 3}, {2, 1, 0}};
        const Box box = grow(held.owned, ghosts);
        const std::int64_t row = box.count[2] + 5;
        held.p.resize(static_cast<std::size_t>(box.count[0] * box.count[1] * row));
        held.u.resize(static_cast<std::size_t>(held.owned.volume() * 3));
        const ArrayView p{reinterpret_cast<std::byte*>(held.p.data()),
                          box.count,
                          {{box.count[1] * row * 8, row * 8, 8}, 8},
                          1,
                          8};
        for (std::int64_t z = 0; z < box.count[0]; ++z)
            for (std::int64_t y = 0; y < box.count[1]; ++y)
                for (std::int64_t x = 0; x < box.count[2]; ++x)
                    held.p[static_cast<std::size_t>((z * box.count[1] + y) * row + x)] =
                        Domain::p(step, box.start[0] + z, box.start[1] + y, box.start[2] + x);
        std::size_t i = 0;
        const Box& owned = held.owned;
        for (int c = 0; c < 3; ++c)
            for (std::int64_t z = owned.start[0]; z < owned.end(0); ++z)
                for (std::int64_t y = owned.start[1]; y < owned.end(1); ++y)
                    for (std::int64_t x = owned.start[2]; x < owned.end(2); ++x)
                        held.u[i++] = Domain::u(step, z, y, x, c);
        writer_.put("p", held.id, p, ghosts);
        writer_.put("u", held.id,
                    ConstArrayView{reinterpret_cast<const std::byte*>(held.u.data()), owned.count,
                                   planar(owned.count, 4), 3, 4});
    }

    Domain domain_;
    Writer writer_;
    std::vector<Held> blocks_;
};

/// Values of a box that are not what the solver put.
std::size_t wrong_values(Reader& reader, const Box& box) {
    const std::int64_t step = reader.step().index;
    std::vector<double> p(static_cast<std::size_t>(box.volume()));
    std::vector<float> u(p.size() * 3);
    std::size_t wrong = 0;
    wrong +=
        reader.read("p", box, packed_view(reinterpret_cast<std::byte*>(p.data()), box.count, 1, 8))
            .size();
    wrong +=
        reader.read("u", box, packed_view(reinterpret_cast<std::byte*>(u.data()), box.count, 3, 4))
            .size();
    std::size_t i = 0;
    for (std::int64_t z = box.start[0]; z < box.end(0); ++z)
        for (std::int64_t y = box.start[1]; y < box.end(1); ++y)
            for (std::int64_t x = box.start[2]; x < box.end(2); ++x, ++i) {
                wrong += p[i] != Domain::p(step, z, y, x);
                for (int c = 0; c < 3; ++c)
                    wrong += u[i * 3 + static_cast<std::size_t>(c)] != Domain::u(step, z, y, x, c);
            }
    return wrong;
}

/// Read all steps to the end of the stream; returns their indices.
std::vector<std::int64_t> read_all(Reader& reader, const Programs& programs,
                                   const Domain& domain = {}) {
    std::vector<std::int64_t> seen;
    while (reader.next(long_enough) == Arrival::step) {
        seen.push_back(reader.step().index);
        const Box mine = share(domain.all, programs.size(), programs.rank());
        EXPECT_EQ(wrong_values(reader, mine), 0u);
        EXPECT_EQ(wrong_values(reader, {{3, 4, 7 + programs.rank()}, {17, 5, 31}}), 0u);
        EXPECT_EQ(wrong_values(reader, domain.all), 0u);
    }
    return seen;
}

TEST(StagingMpi, AnyNumberOfReadersGetsWhatAnyNumberOfWritersPut) {
    for (int writers = 1; writers < world_size(); ++writers)
        for (const MpiMode mode : modes) {
            SCOPED_TRACE(std::to_string(writers) + " writers, " + name_of(mode));
            const Programs programs({writers});
            if (programs.writes()) {
                Solver solver("flow", programs, options(mode));
                for (int step = 0; step < 5; ++step)
                    EXPECT_EQ(solver.publish(step), static_cast<std::uint64_t>(step));
                solver.writer().close();
                if (programs.rank() == 0) {
                    EXPECT_EQ(solver.writer().counters().delivered, 5u);
                }
            } else {
                Reader reader("mpi:flow", programs.comm());
                EXPECT_EQ(read_all(reader, programs), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
            }
        }
}

} // namespace
} // namespace uzushio::staging
