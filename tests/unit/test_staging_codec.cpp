#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "../fuzz/models.hpp"
#include "staging/wire/crc32c.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/select.hpp"
#include "staging/wire/step_codec.hpp"

namespace {

/// Bytes allocated since the last reset.
std::atomic<std::size_t> allocated{0};

} // namespace

// Not inlined: g++ would report a mismatch of new and delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
    allocated += size;
    if (void* memory = std::malloc(size != 0 ? size : 1))
        return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace uzushio::staging {
namespace {

using models::Random;

constexpr std::size_t types = std::variant_size_v<Message>;

std::span<const std::byte, FrameHeader::size> head_of(const std::vector<std::byte>& bytes) {
    return std::span(bytes).first<FrameHeader::size>();
}
std::span<const std::byte> body_of(const std::vector<std::byte>& bytes) {
    return std::span(bytes).subspan(FrameHeader::size);
}
std::uint16_t type_of(const std::vector<std::byte>& bytes) {
    return decode_frame_header(head_of(bytes)).type;
}

TEST(StagingCodec, DecodingInvertsEncodingOfEveryMessage) {
    Random random(11);
    for (int round = 0; round < 300; ++round)
        for (std::size_t type = 1; type <= types; ++type) {
            const Message sent = models::message(random, type);
            const auto bytes = encode(sent);
            const FrameHeader frame = decode_frame_header(head_of(bytes));
            ASSERT_EQ(frame.type, type);
            ASSERT_EQ(frame.length, bytes.size() - FrameHeader::size);
            ASSERT_EQ(decode(frame, body_of(bytes)), sent) << "type " << type;
        }
}

TEST(StagingCodec, DecodingInvertsEncodingOfAStep) {
    Random random(12);
    for (int round = 0; round < 300; ++round) {
        const StepInfo step = models::step(random);
        ASSERT_EQ(decode_step(encode_step(step)), step);
    }
}

TEST(StagingCodec, NumbersAreLittleEndianOnTheWire) {
    const auto bytes = encode(Release{0x0102030405060708u});
    ASSERT_EQ(bytes.size(), 24u);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), 4), "UZS1");
    const std::vector<int> expected{8, 0, 0, 0, 8, 0, 0, 0}; // type, zero, length
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(static_cast<int>(bytes[4 + i]), expected[i]);
        EXPECT_EQ(static_cast<std::size_t>(bytes[16 + i]), 8 - i);
    }
    std::uint32_t sum = crc32c(std::span(bytes).first(12));
    sum = crc32c(body_of(bytes), sum);
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(static_cast<std::uint32_t>(bytes[12 + i]), (sum >> (8 * i)) & 0xFFu);
}

TEST(StagingCodec, AMessageTruncatedAtAnyByteIsRefused) {
    Random random(13);
    for (int round = 0; round < 10; ++round)
        for (std::size_t type = 1; type <= types; ++type) {
            const auto bytes = encode(models::message(random, type));
            const auto body = body_of(bytes);
            for (std::size_t size = 0; size < body.size(); ++size)
                ASSERT_THROW((void)decode_body(static_cast<std::uint16_t>(type), body.first(size)),
                             DecodeError)
                    << "type " << type << " cut to " << size << " of " << body.size();
            auto longer = bytes;
            longer.push_back(std::byte{0});
            ASSERT_THROW((void)decode_body(static_cast<std::uint16_t>(type), body_of(longer)),
                         DecodeError);
        }
}

TEST(StagingCodec, OneWrongBitAnywhereIsDetected) {
    Random random(14);
    for (std::size_t type = 1; type <= types; ++type) {
        const auto bytes = encode(models::message(random, type));
        for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
            auto damaged = bytes;
            damaged[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
            const auto read = [&] {
                return decode(decode_frame_header(head_of(damaged)), body_of(damaged));
            };
            ASSERT_THROW((void)read(), DecodeError) << "type " << type << ", bit " << bit;
        }
    }
}

TEST(StagingCodec, DamagedBodiesAreRefusedOrValidWithinTheMemoryLimit) {
    Random random(15);
    std::size_t refused = 0, accepted = 0;
    for (int round = 0; round < 20000; ++round) {
        const auto type = static_cast<std::size_t>(models::draw(random, 1, types));
        auto bytes = encode(models::message(random, round % 2 == 0 ? 5 : type));
        const std::uint16_t code = type_of(bytes);
        for (std::int64_t n = models::draw(random, 1, 4); n > 0 && bytes.size() > FrameHeader::size;
             --n) {
            const auto where = static_cast<std::size_t>(
                models::draw(random, FrameHeader::size, std::ssize(bytes) - 1));
            // Noise, or the ends of the range, the worst case for counts and lengths.
            const auto kind = models::draw(random, 0, 2);
            bytes[where] = kind == 0   ? std::byte{0xFF}
                           : kind == 1 ? std::byte{0}
                                       : static_cast<std::byte>(random());
        }
        allocated = 0;
        try {
            const Message message = decode_body(code, body_of(bytes));
            ++accepted;
            const auto again = encode(message);
            ASSERT_EQ(again.size(), bytes.size());
        } catch (const DecodeError&) {
            ++refused;
        }
        ASSERT_LT(allocated, 4096 + 64 * bytes.size()) << "round " << round;
    }
    EXPECT_GT(refused, 1000u);
    EXPECT_GT(accepted, 1000u);
}

/// Return a step with a block count of `blocks`, cut to `bytes` bytes.
std::vector<std::byte> claim_of_blocks(std::uint32_t blocks, std::size_t bytes) {
    Encoder encoder;
    encoder.number(std::int64_t{0});
    encoder.real(0);
    for (int list = 0; list < 4; ++list)
        encoder.number(std::uint32_t{0});
    encoder.number(blocks);
    auto message = encoder.take();
    message.resize(std::max(message.size(), bytes));
    return message;
}

TEST(StagingCodec, AGiantCountIsRefusedBeforeMemoryIsAllocated) {
    for (const std::uint32_t count : {1u, 1000u, 1u << 22, 0xFFFFFFFFu}) {
        const auto bytes = claim_of_blocks(count, 0);
        allocated = 0;
        EXPECT_THROW((void)decode_step(bytes), DecodeError) << count;
        EXPECT_LT(allocated, 1000u) << "only the error's text";
    }
}

TEST(StagingCodec, TotalMemoryIsLimitedForCompleteBytesToo) {
    DecodeLimits limits;
    limits.memory_bytes = 100'000;
    const auto bytes = claim_of_blocks(10'000, 10'000 * 116 + 100);
    allocated = 0;
    EXPECT_THROW((void)decode_step(bytes, limits), DecodeError);
    EXPECT_LT(allocated, 1000u);
}

/// Return a step of one field with `blocks` blocks of eight values.
StepInfo step_of_blocks(std::int64_t blocks) {
    StepInfo step;
    step.coordsets.push_back({"mesh", UniformCoords{}});
    step.topologies.push_back({"mesh", 0, 3, {{}, {blocks, 1, 8}}});
    step.fields.push_back({"u", 0, Association::element, ScalarType::float64, 1, {}});
    for (std::int64_t i = 0; i < blocks; ++i) {
        Block block = Block::with_elements(Box::at({i, 0, 0}, {1, 1, 8}));
        block.id = static_cast<std::uint64_t>(i);
        StoredArray array;
        array.offset = static_cast<std::uint64_t>(64 * i);
        array.layout = packed_view<const std::byte>(nullptr, {1, 1, 8}, 1, 8).layout;
        block.arrays.push_back(array);
        step.blocks.push_back(std::move(block));
    }
    return step;
}

TEST(StagingCodec, ValidBlocksAllocateNoErrorMessages) {
    constexpr std::size_t blocks = 1000;
    const StepInfo step = step_of_blocks(blocks);
    const std::vector<std::byte> segment(64 * blocks);
    allocated = 0;
    validate(step);
    EXPECT_LT(allocated, 16 * blocks) << "the list of ids, 8 bytes a block";
    Piece piece;
    piece.block = 7;
    piece.source = {{}, {1, 1, 8}};
    const PieceRequest request = request_of(step, piece, 0, 0);
    allocated = 0;
    EXPECT_EQ(select(step, 0, request, segment).data, segment.data() + 64 * 7);
    EXPECT_EQ(allocated, 0u);
}

TEST(StagingCodec, ABodyBeyondTheLimitIsRefusedByItsHeader) {
    const std::vector<std::byte> body(5000);
    const auto frame = encode_frame_header(1, body);
    EXPECT_NO_THROW((void)decode_frame_header(frame));
    EXPECT_THROW((void)decode_frame_header(frame, DecodeLimits::handshake()), DecodeError);
    auto giant = frame;
    std::fill(giant.begin() + 8, giant.begin() + 12, std::byte{0xFF});
    EXPECT_THROW((void)decode_frame_header(giant), DecodeError);
}

TEST(StagingCodec, OnlySmallMessagesPassBeforeAuthentication) {
    Random random(16);
    const auto hello = encode(Hello{.stream = "channel"});
    EXPECT_NO_THROW((void)decode_body(1, body_of(hello), DecodeLimits::handshake()));
    const auto wordy = encode(Hello{.stream = std::string(257, 'a')});
    EXPECT_THROW((void)decode_body(1, body_of(wordy), DecodeLimits::handshake()), DecodeError);
    EXPECT_NO_THROW((void)decode_body(1, body_of(wordy)));
}

TEST(StagingCodec, ErrorsNameTheFault) {
    const auto message_of = [](auto decode_something) -> std::string {
        try {
            decode_something();
        } catch (const DecodeError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_NE(message_of([] { (void)decode_step(claim_of_blocks(77, 0)); }).find("77 blocks"),
              std::string::npos);
    EXPECT_NE(message_of([] { (void)decode_body(99, {}); }).find("type 99"), std::string::npos);
    const std::array<std::byte, FrameHeader::size> http{std::byte{'G'}, std::byte{'E'},
                                                        std::byte{'T'}};
    EXPECT_NE(message_of([&] { (void)decode_frame_header(http); }).find("not a message"),
              std::string::npos);
}

TEST(StagingCodec, AnInconsistentStepIsRefused) {
    Random random(17);
    StepInfo step;
    while (step.blocks.empty() || step.blocks[0].arrays.empty())
        step = models::step(random);
    step.blocks[0].arrays[0].field = 1000;
    EXPECT_THROW((void)decode_step(encode_step(step)), DecodeError);
}

} // namespace
} // namespace uzushio::staging
