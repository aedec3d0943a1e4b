// Engine shm: a reader maps the memory in which the solver computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/reader.hpp"
#include "staging/transport/shm/node_name.hpp"
#include "staging/transport/shm/shared_segment.hpp"
#include "staging/transport/socket/engine.hpp"
#include "staging/transport/socket/source.hpp"
#include "staging/writer.hpp"
#include "support/flow.hpp"
#include "support/other_process.hpp"
#include "support/staging_sides.hpp"

namespace uzushio::staging {
namespace {

using namespace std::chrono_literals;
using suite::Folder;
using test::Flow;
using test::OtherProcess;

constexpr auto long_enough = 60s;
constexpr std::int64_t n = 100'000;

/// Return the line of /proc/self/maps that contains an address.
std::string mapping_of(const void* address) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t first = 0, last = 0;
        char dash = 0;
        std::istringstream text(line);
        text >> std::hex >> first >> dash >> last;
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        if (first <= at && at < last)
            return line;
    }
    return "";
}

bool is_shared_and_read_only(const void* address) {
    const std::string line = mapping_of(address);
    return line.find(" r--s ") != std::string::npos &&
           line.find("/memfd:uzushio") != std::string::npos;
}

/// Solver that computes its values in the writer's buffers.
struct Solver {
    explicit Solver(const EngineOptions& options)
        : engine(new socket::SocketEngine("flow", group, options,
                                          {shm::make_shared_segment, shm::node_name()})),
          writer("flow", MPI_COMM_NULL, std::unique_ptr<WriterEngine>(engine)) {
        writer.uniform_mesh("mesh", Flow::box(n), {}, {1, 1, 1});
        writer.field("u", "mesh", Association::element, ScalarType::float64);
        writer.block(0, "mesh", Flow::box(n));
    }
    double* publish(std::int64_t index) {
        writer.begin_step(index, 0.0);
        auto* values = reinterpret_cast<double*>(writer.buffer("u", 0).data);
        std::fill_n(values, n, static_cast<double>(index));
        EXPECT_TRUE(writer.end_step());
        return values;
    }

    parallel::CollectiveGroup group = stream_group();
    socket::SocketEngine* engine; ///< the writer's
    Writer writer;
};

EngineOptions options_in(const Folder& folder) {
    EngineOptions options;
    options.engine = "shm";
    options.contact = folder.path() / "contact";
    options.wait_for_readers = 1;
    options.queue.policy = QueuePolicy::block;
    options.queue.depth = 2;
    options.close_limit = 100ms;
    return options;
}

TEST(StagingZeroCopy, AReaderMapsTheSolversMemoryAndNothingIsCopied) {
    const Folder folder;
    Solver solver(options_in(folder));
    Reader reader(options_in(folder).contact.string(), MPI_COMM_NULL);
    std::set<const std::byte*> ring;
    for (std::int64_t i = 0; i < 12; ++i) {
        double* const computed = solver.publish(i);
        EXPECT_EQ(solver.engine->bytes_copied(), 8u * n)
            << "those of the first step, whose size was not known";
        ASSERT_EQ(reader.next(long_enough), StepStatus::step);
        const auto view = reader.view("u", 0);
        ASSERT_TRUE(view);
        EXPECT_TRUE(is_shared_and_read_only(view->data)) << mapping_of(view->data);
        const auto* seen = reinterpret_cast<const double*>(view->data);
        EXPECT_EQ(std::count(seen, seen + n, static_cast<double>(i)), n);
        EXPECT_TRUE(Flow::is_complete(reader));
        if (i == 0)
            continue;
        ring.insert(view->data);
        EXPECT_NE(mapping_of(computed).find("/memfd:uzushio"), std::string::npos);
        computed[n - 1] = 0.5; // not allowed for a solver; shows that memory is shared
        EXPECT_EQ(seen[n - 1], 0.5) << "the same memory";
    }
    EXPECT_LE(ring.size(), 3u) << "depth + 1 segments, each mapped once";
}

TEST(StagingZeroCopy, AnotherProcessMapsItToo) {
    const Folder folder;
    OtherProcess other([&](const OtherProcess::Send& send) {
        Reader reader(options_in(folder).contact.string(), MPI_COMM_NULL);
        while (reader.next(long_enough) == StepStatus::step) {
            const auto view = reader.view("u", 0);
            const auto* seen = view ? reinterpret_cast<const double*>(view->data) : nullptr;
            const auto index = static_cast<double>(reader.step().index);
            send(seen != nullptr && is_shared_and_read_only(seen) &&
                         std::count(seen, seen + n, index) == n
                     ? reader.step().index
                     : -1);
        }
    });
    EngineOptions options = options_in(folder);
    options.close_limit = long_enough;
    Solver solver(options);
    for (std::int64_t i = 0; i < 8; ++i)
        solver.publish(i);
    solver.writer.close();
    for (std::int64_t i = 0; i < 8; ++i)
        EXPECT_EQ(other.receive(long_enough), i);
    EXPECT_TRUE(other.ended_well());
}

TEST(StagingZeroCopy, AReaderWithoutSharedMemoryReceivesTheSameValues) {
    const Folder folder;
    Solver solver(options_in(folder));
    const std::string contact = options_in(folder).contact.string();
    Reader reader(
        std::make_unique<socket::SocketSource>(contact, solver.group, ReaderOptions{}, ""),
        MPI_COMM_NULL);
    for (std::int64_t i = 0; i < 4; ++i) {
        solver.publish(i);
        ASSERT_EQ(reader.next(long_enough), StepStatus::step);
        EXPECT_FALSE(reader.view("u", 0));
        EXPECT_TRUE(Flow::is_complete(reader));
    }
}

} // namespace
} // namespace uzushio::staging
