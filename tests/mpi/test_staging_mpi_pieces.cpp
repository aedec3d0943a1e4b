// ranks: 2
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "staging/queue/held_steps.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/mpi/exposed_segments.hpp"
#include "staging/transport/mpi/job.hpp"
#include "staging/transport/mpi/peer_ranks.hpp"
#include "staging/transport/mpi/source.hpp"
#include "staging/transport/mpi/tags.hpp"
#include "staging/transport/mpi/tile_sender.hpp"
#include "staging/transport/mpi/tile_sizes.hpp"
#include "staging/transport/mpi/windows.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {
namespace {

using namespace std::chrono_literals;

/// Extents of an array with more bytes than a packed tile may have.
constexpr Extent large{60, 100, 150};
static_assert(60 * 100 * 150 * 8 > max_tile_bytes);
constexpr std::int64_t gap = 24; ///< bytes after each row of an array with gaps
constexpr std::uint64_t sequence = 3;

ArrayLayout layout(bool gaps) {
    const std::int64_t row = large[2] * 8 + (gaps ? gap : 0);
    return {{large[1] * row, row, 8}, 8};
}

std::size_t bytes_of(bool gaps) {
    return static_cast<std::size_t>(large[0] * layout(gaps).strides[0]);
}

double& value(std::byte* data, const ArrayLayout& layout, std::int64_t z, std::int64_t y,
              std::int64_t x) {
    return *reinterpret_cast<double*>(data + z * layout.strides[0] + y * layout.strides[1] +
                                      x * layout.strides[2]);
}

double expected(bool gaps, std::int64_t z, std::int64_t y, std::int64_t x) {
    return (gaps ? 1e9 : 0.0) + static_cast<double>((z * 1000 + y) * 1000 + x);
}

/// Rank 0's step of two blocks, the second of which is stored with gaps.
StepInfo two_blocks() {
    StepInfo step;
    step.coordsets = {{"mesh", UniformCoords{}}};
    step.topologies = {{"mesh", 0, 3, {{}, {2 * large[0], large[1], large[2]}}}};
    step.fields = {{"u", 0, Association::element, ScalarType::float64, 1, {}}};
    for (const bool gaps : {false, true}) {
        Block block = Block::with_elements(Box::at({gaps ? large[0] : 0, 0, 0}, large));
        block.id = gaps ? 1 : 0;
        StoredArray array;
        array.offset = gaps ? bytes_of(false) : 0;
        array.layout = layout(gaps);
        block.arrays = {array};
        step.blocks.push_back(block);
    }
    validate(step);
    return step;
}

std::shared_ptr<const HeldStep> filled(std::shared_ptr<Segment> memory) {
    for (const bool gaps : {false, true})
        for (std::int64_t z = 0; z < large[0]; ++z)
            for (std::int64_t y = 0; y < large[1]; ++y)
                for (std::int64_t x = 0; x < large[2]; ++x)
                    value(memory->bytes().data() + (gaps ? bytes_of(false) : 0), layout(gaps), z, y,
                          x) = expected(gaps, z, y, x);
    return std::make_shared<const HeldStep>(
        HeldStep{sequence, std::make_shared<StepInfo>(two_blocks()), 0, std::move(memory)});
}

std::shared_ptr<const HeldStep> filled(ExposedSegments& exposure) {
    return filled(exposure.make_segment(bytes_of(false) + bytes_of(true)));
}

/// Segment whose first block is attached to the window and whose second is not.
class HalfExposed : public Segment {
  public:
    explicit HalfExposed(MPI_Win window)
        : window_(window), memory_(bytes_of(false) + bytes_of(true)) {
        MPI_Win_attach(window_, memory_.data(), static_cast<MPI_Aint>(bytes_of(false)));
    }
    HalfExposed(const HalfExposed&) = delete;
    HalfExposed& operator=(const HalfExposed&) = delete;
    ~HalfExposed() override { MPI_Win_detach(window_, memory_.data()); }

    [[nodiscard]] std::span<std::byte> bytes() override { return memory_; }
    [[nodiscard]] SegmentPlace place() const override {
        MPI_Aint address = 0;
        MPI_Get_address(memory_.data(), &address);
        return {1, static_cast<std::uint64_t>(address), memory_.size(), 0};
    }

  private:
    MPI_Win window_;
    std::vector<std::byte> memory_;
};

/// The announcement of the step.
Announce announced(SegmentPlace place = {1, 4096, bytes_of(false) + bytes_of(true), 0}) {
    Announce step;
    step.sequence = sequence;
    step.step = two_blocks();
    step.places = {place};
    return step;
}

PieceRequest request(std::uint32_t block) {
    PieceRequest request;
    request.request = block;
    request.sequence = sequence;
    request.block = block;
    request.source = {{}, large};
    request.components = 1;
    request.order = ComponentOrder::interleaved;
    return request;
}

/// Rank 0 writes, rank 1 reads.
PeerRanks link() { return {{0}, {1}}; }

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/// Serve a reader as the service's thread does, until it detaches. Return the requested modes.
std::vector<TransferMode> serve(std::uint32_t channel, const HeldSteps& steps,
                                const PendingWindows& windows = {}) {
    TileBuffers buffers(max_tile_bytes, 8);
    PendingSends sends;
    TileSender sender(link(), windows, channel, 0, 0, steps, buffers, sends);
    std::vector<TransferMode> transfer_modes;
    ReceivedBytes message;
    for (bool left = false; !left;) {
        left = receive(PeerRanks::comm(), 1, tag(channel, MessageKind::control), message);
        while (receive(PeerRanks::comm(), 1, tag(channel, MessageKind::request), message)) {
            transfer_modes.push_back(decode_as<FetchRequest>(message.bytes).mode);
            sender.take(message.bytes);
        }
        while (receive(PeerRanks::comm(), 1, tag(channel, MessageKind::credit), message))
            sender.add_credit(message.bytes);
        if (!sender.progress())
            std::this_thread::sleep_for(10us);
        sends.test_all();
    }
    return transfer_modes;
}

/// Read both blocks, into arrays without gaps and with them, and compare.
void expect_both_blocks(MpiSource& source, const Announce& step) {
    for (const bool gaps_here : {false, true}) {
        std::vector<std::vector<std::byte>> found(2, std::vector<std::byte>(bytes_of(gaps_here)));
        std::vector<Fetch> wanted;
        for (std::uint32_t block = 0; block < 2; ++block)
            wanted.push_back(
                {0, request(block), {found[block].data(), large, layout(gaps_here), 1, 8}});
        source.fetch(step, wanted, 60s);
        std::size_t wrong = 0;
        for (const bool gaps : {false, true})
            for (std::int64_t z = 0; z < large[0]; ++z)
                for (std::int64_t y = 0; y < large[1]; ++y)
                    for (std::int64_t x = 0; x < large[2]; ++x)
                        wrong += value(found[gaps ? 1 : 0].data(), layout(gaps_here), z, y, x) !=
                                 expected(gaps, z, y, x);
        EXPECT_EQ(wrong, 0u) << "into an array " << (gaps_here ? "with" : "without") << " gaps";
    }
}

TEST(StagingMpiPieces, AreOneMessageIfNeitherSideHasGapsAndOtherwiseTiles) {
    if (world_rank() == 0) {
        HeldSteps steps;
        steps.put(filled(*std::make_shared<ExposedSegments>()));
        std::vector<std::uint64_t> tiles;
        for (const TransferMode& mode : serve(1, steps))
            tiles.push_back(mode.tile_bytes);
        EXPECT_EQ(tiles, (std::vector<std::uint64_t>{max_direct_bytes, max_tile_bytes,
                                                     max_tile_bytes, max_tile_bytes}));
        return;
    }
    MpiSource source(link(), {}, 1, MpiMode::two_sided);
    expect_both_blocks(source, announced());
}

TEST(StagingMpiPieces, ArePutOrReadThroughWindows) {
    for (const MpiMode mode : {MpiMode::push, MpiMode::pull}) {
        const std::uint32_t channel = mode == MpiMode::push ? 4 : 5;
        auto exposure = std::make_shared<ExposedSegments>();
        const auto windows = make_windows(link(), mode, [exposure](MPI_Win window) {
            return world_rank() != 0 || exposure->open(window);
        });
        ASSERT_EQ(windows.wait_for(60s), std::future_status::ready);
        ASSERT_TRUE(is_ready(windows));
        if (world_rank() == 0) {
            HeldSteps steps;
            steps.put(filled(*exposure));
            const SegmentPlace place = steps.find(sequence)->segment->place();
            MPI_Send(&place, sizeof place, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            const auto requests = serve(channel, steps, windows);
            EXPECT_EQ(requests.size(), mode == MpiMode::push ? 4u : 0u);
            for (const TransferMode& request : requests)
                EXPECT_TRUE(request.put);
        } else {
            SegmentPlace place;
            MPI_Recv(&place, sizeof place, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MpiSource source(link(), windows, channel, mode);
            expect_both_blocks(source, announced(place));
        }
    }
}

/// Windows of both ranks for gets, and on rank 0 the exposed segments.
struct Pulling {
    std::shared_ptr<ExposedSegments> exposure = std::make_shared<ExposedSegments>();
    PendingWindows windows =
        make_windows(link(), MpiMode::pull, [exposure = exposure](MPI_Win window) {
            return world_rank() != 0 || exposure->open(window);
        });

    Pulling() { windows.wait(); }
};

/// Send the reader the place of a step, and serve the reader.
std::vector<TransferMode> offer(std::uint32_t channel, const std::shared_ptr<const HeldStep>& step,
                                const PendingWindows& windows) {
    HeldSteps steps;
    steps.put(step);
    const SegmentPlace place = step->segment->place();
    MPI_Send(&place, sizeof place, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    return serve(channel, steps, windows);
}

Announce offered() {
    SegmentPlace place;
    MPI_Recv(&place, sizeof place, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return announced(place);
}

TEST(StagingMpiPieces, OfRefusedGetsAreRequested) {
    const Pulling both;
    ASSERT_TRUE(is_ready(both.windows));
    if (world_rank() == 0) {
        const auto step = filled(std::make_shared<HalfExposed>(both.windows.get()->get_window()));
        const auto requests = offer(6, step, both.windows);
        EXPECT_EQ(requests.size(), 2u) << "only the second block of each of two reads";
        return;
    }
    const Announce step = offered();
    MpiSource source(link(), both.windows, 6, MpiMode::pull);
    expect_both_blocks(source, step);
}

TEST(StagingMpiPieces, CanBeReadWhileOtherSegmentsAreAttachedAndDetached) {
    constexpr int rounds = 500;
    constexpr std::uint32_t pieces = 40;
    const Pulling both;
    ASSERT_TRUE(is_ready(both.windows));
    if (world_rank() == 0) {
        const auto step = filled(*both.exposure);
        std::atomic<bool> left = false;
        std::thread growing([&] { // like segments of growing steps, at lower addresses
            while (!left) {
                std::vector<std::unique_ptr<Segment>> segments;
                for (int i = 0; i < 16; ++i)
                    segments.push_back(both.exposure->make_segment(64 << 20));
                std::this_thread::sleep_for(1us);
            }
        });
        (void)offer(7, step, both.windows);
        left = true;
        growing.join();
        return;
    }
    const Announce step = offered();
    MpiSource source(link(), both.windows, 7, MpiMode::pull);
    // Each read is one layer of the first block: values without gaps, one get.
    const std::size_t values = static_cast<std::size_t>(large[1] * large[2]);
    std::vector<double> layers(pieces * values);
    std::vector<Fetch> wanted;
    for (std::uint32_t z = 0; z < pieces; ++z) {
        Fetch fetch{0, request(0), {}};
        fetch.request.request = z;
        fetch.request.source = Box::at({z, 0, 0}, {1, 4, large[2]});
        fetch.to = packed_view(reinterpret_cast<std::byte*>(&layers[z * values]),
                               fetch.request.source.extents(), 1, 8);
        wanted.push_back(fetch);
    }
    for (int round = 0; round < rounds; ++round) {
        std::fill(layers.begin(), layers.end(), -1.0);
        source.fetch(step, wanted, 60s);
        for (std::uint32_t z = 0; z < pieces; ++z) {
            ASSERT_EQ(layers[z * values], expected(false, z, 0, 0));
            ASSERT_EQ(layers[z * values + 4 * large[2] - 1], expected(false, z, 3, large[2] - 1));
        }
    }
}

TEST(StagingMpiPieces, OfAReaderThatTimesOutDuringGetsDoNotEndTheWriter) {
    const Pulling both;
    ASSERT_TRUE(is_ready(both.windows));
    std::vector<std::byte> found(bytes_of(false)); // MPI continues the gets
    if (world_rank() == 0) {
        auto step = filled(*both.exposure);
        const SegmentPlace place = step->segment->place();
        MPI_Send(&place, sizeof place, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        std::this_thread::sleep_for(300ms); // without MPI calls: the gets wait
        step.reset();
    } else {
        const Announce step = offered();
        const Fetch fetch{0, request(0), {found.data(), large, layout(false), 1, 8}};
        MpiSource source(link(), both.windows, 8, MpiMode::pull);
        EXPECT_THROW(source.fetch(step, {&fetch, 1}, 0s), PeerSilent);
    }
    for (int i = 0; i < 200; ++i) { // MPI serves the gets now
        MPI_Barrier(MPI_COMM_WORLD);
        std::this_thread::sleep_for(100us);
    }
    if (world_rank() == 0) { // the reader's last messages
        ReceivedBytes message;
        for (const MessageKind talk :
             {MessageKind::progress_hint, MessageKind::progress_hint, MessageKind::control})
            EXPECT_TRUE(receive(PeerRanks::comm(), 1, tag(8, talk), message));
    }
}

TEST(StagingMpiPieces, LeaveZerosOrRetainedValuesAtTheirAddresses) {
    const Pulling both;
    ASSERT_TRUE(is_ready(both.windows));
    if (world_rank() != 0)
        return;
    const auto first_byte_after = [&](std::size_t bytes) {
        auto segment = both.exposure->make_segment(bytes);
        const volatile std::byte* at = segment->bytes().data();
        std::fill(segment->bytes().begin(), segment->bytes().end(), std::byte{7});
        segment.reset();
        return *at;
    };
    for (const std::size_t bytes : {std::size_t{5000}, std::size_t{5} << 20}) {
        EXPECT_EQ(first_byte_after(bytes), std::byte{0});
        auto again = both.exposure->make_segment(bytes);
        auto other = both.exposure->make_segment(bytes);
        const auto* before = again->bytes().data();
        again.reset();
        again = both.exposure->make_segment(bytes);
        EXPECT_EQ(again->bytes().data(), before) << "addresses are used again";
        EXPECT_NE(other->bytes().data(), before);
        EXPECT_EQ(again->bytes()[bytes - 1], std::byte{0});
        again->bytes()[bytes - 1] = std::byte{1};
    }
    both.exposure->retain_values();
    EXPECT_EQ(first_byte_after(5000), std::byte{7});
}

TEST(StagingMpiPieces, OfSegmentsBeyondAWindowsMaximumAreMarkedUnreachable) {
    const Pulling both;
    ASSERT_TRUE(is_ready(both.windows));
    if (world_rank() != 0)
        return;
    const auto other_stream = std::make_shared<ExposedSegments>();
    ASSERT_TRUE(other_stream->open(both.windows.get()->get_window()));
    for (int time = 0; time < 2; ++time) { // detached segments free their places
        std::vector<std::unique_ptr<Segment>> segments;
        std::size_t reachable = 0;
        for (int i = 0; i < 100; ++i) {
            segments.push_back((i % 2 == 0 ? both.exposure : other_stream)->make_segment(4096));
            reachable += segments.back()->place().process;
        }
        EXPECT_EQ(reachable, ExposedSegments::max_attached);
    }
}

TEST(StagingMpiPieces, OfAReleasedStepAndLaterOnesAreRefused) {
    if (world_rank() == 0) {
        const HeldSteps none;
        EXPECT_EQ(serve(2, none).size(), 2u);
        return;
    }
    MpiSource source(link(), {}, 2, MpiMode::two_sided);
    std::vector<std::byte> found(bytes_of(false));
    const Fetch one{0, request(0), {found.data(), large, layout(false), 1, 8}};
    const Fetch both[] = {one, one};
    const auto text_of_fetch = [&] {
        try {
            source.fetch(announced(), both, 60s);
        } catch (const StagingError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(text_of_fetch().find("Step 3 is no longer on rank 0"), std::string::npos);
    EXPECT_NE(text_of_fetch().find("attach again"), std::string::npos);
}

TEST(StagingMpiPieces, WithGapsAreRefusedInTilesThatAreTooLargeToPack) {
    if (world_rank() == 0) {
        HeldSteps steps;
        steps.put(filled(*std::make_shared<ExposedSegments>()));
        EXPECT_EQ(serve(3, steps).size(), 1u);
        return;
    }
    PendingSends sends;
    sends.send(PeerRanks::comm(), 0, tag(3, MessageKind::request),
               encode(FetchRequest{request(1), {false, max_direct_bytes}}));
    ReceivedBytes reply;
    while (!receive(PeerRanks::comm(), 0, tag(3, MessageKind::error), reply))
        std::this_thread::sleep_for(100us);
    const Message message = decode_message(reply.bytes);
    ASSERT_TRUE(std::holds_alternative<Error>(message));
    EXPECT_EQ(std::get<Error>(message).code, ErrorCode::request);
    sends.send(PeerRanks::comm(), 0, tag(3, MessageKind::control), std::vector<std::byte>(1));
    while (!sends.test_all())
        std::this_thread::sleep_for(100us);
}

} // namespace
} // namespace uzushio::staging::mpi
