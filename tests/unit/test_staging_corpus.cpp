// The fuzzer's entry point and corpus (tests/fuzz) as an ordinary test, with any compiler.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "../fuzz/decode.cpp"

namespace {

const std::filesystem::path corpus = UZUSHIO_FUZZ_CORPUS; // set by CMake

std::vector<std::uint8_t> contents(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(StagingCorpus, EveryInputIsDecodedOrRefused) {
    std::set<int> types;
    for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
        const auto bytes = contents(entry.path());
        ASSERT_FALSE(bytes.empty()) << entry.path();
        EXPECT_EQ(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()), 0) << entry.path();
        types.insert(bytes[0]);
    }
    for (int type = 1; type <= static_cast<int>(std::variant_size_v<Message>); ++type)
        EXPECT_TRUE(types.contains(type)) << "no input for messages of type " << type;
}

TEST(StagingCorpus, HoldsValidAndInvalidMessages) {
    std::size_t right = 0, wrong = 0;
    for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
        const auto bytes = contents(entry.path());
        try {
            (void)decode_body(bytes.at(0), std::as_bytes(std::span(bytes)).subspan(1));
            ++right;
        } catch (const DecodeError&) {
            ++wrong;
        }
    }
    EXPECT_GE(right, std::variant_size_v<Message>);
    EXPECT_GE(wrong, 10u);
}

} // namespace
