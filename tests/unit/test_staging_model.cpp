#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "staging/datamodel/model_error.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/wire/checksum.hpp"
#include "staging/wire/crc32c.hpp"
#include "staging/wire/select.hpp"

namespace uzushio::staging {
namespace {

/// Return a step of 4 x 6 x 8 elements in one block, with a scalar on elements and ghosts of 1.
StepInfo one_block() {
    StepInfo step;
    step.coordsets = {{"coords", UniformCoords{}}};
    step.topologies = {{"mesh", 0, 3, {{0, 0, 0}, {4, 6, 8}}}};
    step.fields = {{"p", 0, Association::element, ScalarType::float32, 1, {}}};
    Block block = Block::with_elements({{0, 0, 0}, {4, 6, 8}});
    block.id = 7;
    StoredArray array;
    array.ghosts = {{1, 1, 1}, {1, 1, 1}};
    array.layout = interleaved({6, 8, 10}, 1, 4);
    block.arrays = {array};
    step.blocks = {block};
    return step;
}

std::string fault_of(const StepInfo& step) {
    try {
        validate(step);
    } catch (const ModelError& error) {
        return error.what();
    }
    return "";
}

TEST(StagingModel, AcceptsAValidStep) { EXPECT_EQ(fault_of(one_block()), ""); }

TEST(StagingModel, NamesEachFaultOfAStep) {
    const auto fault = [](auto change) {
        StepInfo step = one_block();
        change(step);
        return fault_of(step);
    };
    EXPECT_NE(fault([](auto& s) { s.topologies[0].coordset = 1; }).find("coordset"),
              std::string::npos);
    EXPECT_NE(fault([](auto& s) { s.fields.push_back(s.fields[0]); }).find("\"p\""),
              std::string::npos);
    EXPECT_NE(fault([](auto& s) { s.fields[0].components = 0; }).find("components"),
              std::string::npos);
    EXPECT_NE(fault([](auto& s) { s.blocks.push_back(s.blocks[0]); }).find("two blocks"),
              std::string::npos);
    EXPECT_NE(fault([](auto& s) { s.blocks[0].elements.upper[2] = 9; }).find("reaches out"),
              std::string::npos);
    EXPECT_NE(fault([](auto& s) { s.blocks[0].arrays[0].field = 9; }).find("unknown field"),
              std::string::npos);
    EXPECT_NE(fault([](auto& s) { s.blocks[0].arrays[0].layout.strides[2] = 2; }).find("overlap"),
              std::string::npos);
    EXPECT_NE(fault([](auto& s) {
                  s.blocks[0].arrays[0].layout.strides[0] = std::int64_t{1} << 61;
              }).find("exceed memory"),
              std::string::npos);
    EXPECT_NE(
        fault([](auto& s) { s.coordsets[0].coords = ExplicitCoords{"p"}; }).find("not on vertices"),
        std::string::npos);
    EXPECT_NE(fault([](auto& s) {
                  s.topologies[0].elements.upper = {std::int64_t{1} << 30, std::int64_t{1} << 30,
                                                    1};
              }).find("impossible"),
              std::string::npos);
}

TEST(StagingModel, VerticesAndElementsOfABlockAreInversesInAnyDimension) {
    for (std::uint8_t dimension = 1; dimension <= 3; ++dimension) {
        Box elements = Box::at({3, 4, 5}, {1, 1, 1});
        for (std::size_t axis = 3 - std::size_t{dimension}; axis < 3; ++axis)
            elements.upper[axis] += 8;
        const Box vertices = vertices_of(elements, dimension);
        EXPECT_EQ(elements_of(vertices, dimension), elements);
        EXPECT_EQ(vertices.extent(2), 10);
        EXPECT_EQ(vertices.extent(0), dimension == 3 ? 10 : 1);
    }
}

TEST(StagingModel, AViewMustBeInsideItsSegment) {
    StepInfo step = one_block();
    Block& block = step.blocks[0];
    block.arrays[0].offset = 16;
    ASSERT_EQ(stored_bytes(step, block, block.arrays[0]), 6u * 8 * 10 * 4);
    std::vector<std::byte> segment(16 + 6 * 8 * 10 * 4);
    const auto view = view_of(step, block, block.arrays[0], segment);
    EXPECT_EQ(view.data, segment.data() + 16);
    EXPECT_EQ(view.bytes(), 6 * 8 * 10 * 4);
    segment.pop_back();
    EXPECT_THROW((void)view_of(step, block, block.arrays[0], segment), ModelError);
    block.arrays[0].offset = ~std::uint64_t{0};
    EXPECT_THROW((void)view_of(step, block, block.arrays[0], segment), ModelError);
}

TEST(StagingModel, ARequestIsServedOnlyWithinTheArrayOfItsRank) {
    const StepInfo step = one_block();
    const std::vector<std::byte> segment(6 * 8 * 10 * 4);
    PieceRequest request;
    request.source = Box::at({1, 1, 1}, {4, 6, 8});
    const auto view = select(step, 0, request, segment);
    EXPECT_EQ(view.count, (Extent{4, 6, 8}));
    EXPECT_EQ(view.data - segment.data(), ((1 * 8 + 1) * 10 + 1) * 4);

    const auto refused = [&](auto change) {
        PieceRequest wrong = request;
        change(wrong);
        EXPECT_THROW((void)select(step, 0, wrong, segment), ModelError);
    };
    refused([](auto& r) { r.block = 1; });
    refused([](auto& r) { r.array = 1; });
    refused([](auto& r) { r.source.lower[0] = -1; });
    refused([](auto& r) { r.source.upper[2] = 11; });
    refused([](auto& r) { r.source.lower[1] = std::int64_t{1} << 62; });
    refused([](auto& r) { r.components = 2; });
    refused([](auto& r) { r.components = 0; });
    refused([](auto& r) { r.first_component = 0xFFFFFFFFu; });
    EXPECT_THROW((void)select(step, 1, request, segment), ModelError);
}

TEST(StagingModel, PartsOfRanksWithDifferentFieldsMerge) {
    // Given a rank with p, and one with another zone and q first.
    StepInfo a = one_block();
    StepInfo b = one_block();
    b.topologies.insert(b.topologies.begin(), Topology{"other", 0, 3, {{0, 0, 0}, {4, 6, 8}}});
    b.fields = {{"q", 0, Association::element, ScalarType::float32, 1, {}},
                {"p", 1, Association::element, ScalarType::float32, 1, {}}};
    b.blocks[0].id = 8;
    b.blocks[0].rank = 1;
    b.attributes = {{"Re", 180.0}};

    const StepInfo whole = merge(std::array{a, b});

    ASSERT_EQ(whole.blocks.size(), 2u);
    EXPECT_EQ(whole.fields.size(), 2u);
    EXPECT_EQ(whole.coordsets.size(), 1u);
    EXPECT_EQ(whole.attributes, b.attributes);
    const Block& block = whole.blocks[1];
    EXPECT_EQ(whole.topologies[block.topology].name, "other");
    EXPECT_EQ(whole.fields[block.arrays[0].field].name, "q");
    EXPECT_EQ(value_bytes(whole, 1), 6u * 8 * 10 * 4);
    EXPECT_EQ(value_bytes(whole, 2), 0u);
}

TEST(StagingModel, InconsistentPartsAreRefused) {
    const StepInfo a = one_block();
    StepInfo b = one_block();
    EXPECT_THROW((void)merge(std::array{a, b}), ModelError) << "the same block twice";
    b.blocks.clear();
    EXPECT_NO_THROW((void)merge(std::array{a, b}));
    b.index = 1;
    EXPECT_THROW((void)merge(std::array{a, b}), ModelError) << "another step";
    b.index = a.index;
    b.fields[0].type = ScalarType::float64;
    EXPECT_THROW((void)merge(std::array{a, b}), ModelError) << "another type";
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(StagingCrc32c, HasThePublishedCheckValues) {
    EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
    EXPECT_EQ(crc32c_table(bytes_of("123456789")), 0xE3069283u);
    // RFC 3720, B.4: 32 bytes of zeros, of ones, and rising.
    EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8A9136AAu);
    EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62A8AB43u);
    std::string rising;
    for (char c = 0; c < 32; ++c)
        rising += c;
    EXPECT_EQ(crc32c(bytes_of(rising)), 0x46DD794Eu);
    EXPECT_EQ(crc32c({}), 0u);
}

TEST(StagingCrc32c, InstructionAndTableAgreeAndPartsCombine) {
    std::string text(40000, ' ');
    std::uint32_t state = 1;
    for (char& c : text)
        c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
    const auto all = bytes_of(text);
    for (const std::size_t size : {0u, 1u, 7u, 8u, 63u, 12287u, 12288u, 12289u, 24576u, 40000u})
        for (const std::size_t start : {0u, 1u, 5u}) {
            const auto part = all.first(size).subspan(std::min<std::size_t>(start, size));
            const std::uint32_t whole = crc32c(part);
            EXPECT_EQ(whole, crc32c_table(part)) << size << " bytes from " << start;
            const auto a = part.first(part.size() / 3), b = part.subspan(a.size());
            EXPECT_EQ(crc32c(b, crc32c(a)), whole);
            EXPECT_EQ(crc32c_combine(crc32c(a), crc32c(b), b.size()), whole);
        }
}

TEST(StagingChecksum, ExcludesGapsAndCoversEveryValue) {
    std::vector<std::byte> memory(6 * 8 * 10 * 4);
    for (std::size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<std::byte>(i * 31 % 251);
    const auto inner = packed_view(std::as_const(memory).data(), {6, 8, 10}, 1, 4)
                           .sub(Box::at({1, 1, 1}, {4, 6, 8}));
    const std::uint32_t sum = checksum(inner);
    memory[0] ^= std::byte{1}; // a ghost
    EXPECT_EQ(checksum(inner), sum);
    memory[((1 * 8 + 1) * 10 + 1) * 4] ^= std::byte{1}; // the first owned value
    EXPECT_NE(checksum(inner), sum);
}

} // namespace
} // namespace uzushio::staging
