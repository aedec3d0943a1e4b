#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "staging/datamodel/copy.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/queued/heap_segment.hpp"
#include "staging/transport/queued/queued_engine.hpp"
#include "staging/wire/message_codec.hpp"
#include "support/fake_service.hpp"

/// Small solver on each rank, and an engine for its steps with a passive service.
namespace uzushio::staging::queued {

using namespace std::chrono_literals;
using test::Served;

inline constexpr auto long_enough = 60s;

/// Step of one rank: a block of n x 3 x 5 elements with u (double, a ghost layer along z) and w
/// (float, three planar components), and the solver's memory of both.
struct Solver {
    Solver(const parallel::CollectiveGroup& group, std::int64_t n)
        : rank(group.rank()), ranks(group.size()), depth(n) {
        u.resize(static_cast<std::size_t>((n + 2) * 3 * 5));
        w.resize(static_cast<std::size_t>(3 * n * 3 * 5));
    }

    static double u_of(std::int64_t step, int rank, std::size_t i) {
        return static_cast<double>(step) + 1000.0 * rank + 1e-3 * static_cast<double>(i);
    }
    static float w_of(std::int64_t step, int rank, std::size_t i) {
        return static_cast<float>(-u_of(step, rank, i));
    }
    void compute(std::int64_t step) const {
        for (std::size_t i = 0; i < u.size(); ++i)
            u_memory()[i] = u_of(step, rank, i);
        for (std::size_t i = 0; i < w.size(); ++i)
            w_memory()[i] = w_of(step, rank, i);
    }
    double* u_memory() const { return in_u != nullptr ? in_u : const_cast<double*>(u.data()); }
    float* w_memory() const { return in_w != nullptr ? in_w : const_cast<float*>(w.data()); }

    LocalStep step(std::int64_t index) const {
        compute(index);
        LocalStep local;
        local.part.index = index;
        local.part.time = 0.5 * static_cast<double>(index);
        local.part.attributes = {{"dt", 1.0 / static_cast<double>(index + 1)}};
        local.part.coordsets = {{"mesh", UniformCoords{}}};
        local.part.topologies = {{"mesh", 0, 3, {{}, {100, 3, 5 * ranks}}}};
        local.part.fields = {{"u", 0, Association::element, ScalarType::float64, 1, {}},
                             {"w", 0, Association::element, ScalarType::float32, 3, {}}};
        Block block = Block::with_elements(Box::at({1, 0, 5 * rank}, {depth, 3, 5}));
        block.id = static_cast<std::uint64_t>(rank);
        block.arrays.resize(2);
        block.arrays[0].field = 0;
        block.arrays[0].ghosts.lower[0] = block.arrays[0].ghosts.upper[0] = 1;
        block.arrays[1].field = 1;
        local.part.blocks = {block};
        local.values = {
            packed_view(reinterpret_cast<const std::byte*>(u_memory()), {depth + 2, 3, 5}, 1, 8),
            {reinterpret_cast<const std::byte*>(w_memory()),
             {depth, 3, 5},
             planar({depth, 3, 5}, 4),
             3,
             4}};
        return local;
    }
    [[nodiscard]] std::size_t bytes() const { return u.size() * 8 + w.size() * 4; }

    int rank, ranks;
    std::int64_t depth;
    std::vector<double> u;
    std::vector<float> w;
    double* in_u = nullptr; ///< elsewhere than in `u`
    float* in_w = nullptr;
};

struct Writer {
    explicit Writer(const EngineOptions& given, MakeSegment make = make_heap_segment)
        : options(given),
          engine(group, options, std::move(make), fake_service(group.rank(), served)) {}

    /// Expect this rank's values of a step in the memory that the service reads.
    void expect_held(std::uint64_t sequence, std::int64_t index, const Solver& solver) const {
        const auto step = served->held->find(sequence);
        ASSERT_NE(step, nullptr) << sequence;
        ASSERT_EQ(step->part->blocks.size(), 1u);
        const Block& block = step->part->blocks[0];
        EXPECT_EQ(block.rank, static_cast<std::uint32_t>(group.rank()));
        const auto memory = step->segment->bytes();
        std::vector<double> u(solver.u.size());
        auto view = view_of(*step->part, block, block.arrays[0], memory);
        copy(view, packed_view(reinterpret_cast<std::byte*>(u.data()), view.count, 1, 8));
        std::vector<float> w(solver.w.size());
        view = view_of(*step->part, block, block.arrays[1], memory);
        copy(view,
             {reinterpret_cast<std::byte*>(w.data()), view.count, planar(view.count, 4), 3, 4});
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < u.size(); ++i)
            wrong += u[i] != Solver::u_of(index, group.rank(), i);
        for (std::size_t i = 0; i < w.size(); ++i)
            wrong += w[i] != Solver::w_of(index, group.rank(), i);
        EXPECT_EQ(wrong, 0u);
    }

    parallel::CollectiveGroup group = stream_group(MPI_COMM_WORLD);
    EngineOptions options;
    std::shared_ptr<Served> served = std::make_shared<Served>();
    QueuedEngine engine;
};

inline EngineOptions options(QueuePolicy policy, std::size_t depth) {
    EngineOptions options;
    options.queue.policy = policy;
    options.queue.depth = depth;
    options.queue.time_limit = long_enough;
    return options;
}

inline Announce decoded(const std::shared_ptr<void>& payload) {
    const auto& bytes = *std::static_pointer_cast<EncodedAnnounce>(payload);
    const std::span all(bytes);
    const FrameHeader frame = decode_frame_header(all.first<FrameHeader::size>());
    EXPECT_EQ(frame.length + FrameHeader::size, bytes.size());
    return std::get<Announce>(staging::decode(frame, all.subspan(FrameHeader::size)));
}

/// Return a reader of rank 0's queue; nothing on other ranks.
inline std::optional<QueueReader> reader_of(const Writer& writer) {
    if (writer.served->queue == nullptr)
        return std::nullopt;
    return writer.served->queue->attach();
}

} // namespace uzushio::staging::queued
