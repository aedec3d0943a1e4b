#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <fstream>
#include <limits>

#include "geometry/stl.hpp"
#include "support/triangulated.hpp"

namespace uzushio::geometry {
namespace {

using std::string_literals::operator""s;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class Value> std::string bytes_of(const Value& value) {
    const auto bytes = std::bit_cast<std::array<char, sizeof value>>(value);
    return {bytes.begin(), bytes.end()};
}

std::string binary(const std::vector<Triangle>& triangles) {
    std::string bytes = "solid, but binary";
    bytes.resize(80, ' ');
    bytes += bytes_of(static_cast<std::uint32_t>(triangles.size()));
    for (const Triangle& triangle : triangles) {
        bytes += bytes_of(std::array<float, 3>{});
        for (const domain::Vector& corner : triangle)
            for (const double x : corner)
                bytes += bytes_of(static_cast<float>(x));
        bytes += std::string(2, '\0');
    }
    return bytes;
}

std::string ascii(const std::vector<Triangle>& triangles) {
    std::ostringstream text;
    text << "solid a box\n";
    for (const Triangle& triangle : triangles) {
        text << "  FACET normal 0 0 nan\n    outer loop\n";
        for (const domain::Vector& corner : triangle)
            text << "      vertex " << std::showpos << corner[0] << ' ' << std::scientific
                 << corner[1] << ' ' << corner[2] << std::noshowpos << std::defaultfloat << "\r\n";
        text << "    endloop\n  endfacet\n";
    }
    text << "endsolid a box\n";
    return text.str();
}

/// Tests with a file.
class Stl : public ::testing::Test {
  protected:
    void TearDown() override { std::filesystem::remove(path_); }

    StlTriangles read(const std::string& contents, double scale = 1,
                      const domain::Vector& offset = {}) {
        std::ofstream(path_, std::ios::binary) << contents;
        return read_stl(path_, scale, offset);
    }
    std::string error(const std::string& contents) {
        try {
            read(contents);
        } catch (const std::invalid_argument& error) {
            const std::string text = error.what();
            EXPECT_TRUE(text.starts_with(path_.string() + " ")) << text;
            return text.substr(std::min(text.size(), path_.string().size() + 1));
        }
        return "no error";
    }
    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() / ("uzushio-" + std::to_string(getpid()) + ".stl");
    std::vector<Triangle> box_ = box_triangles({0, 0, 0}, {1, 2, 4});
};

TEST_F(Stl, IsReadFromBinaryAndAscii) {
    EXPECT_EQ(read(binary(box_)).triangles, box_);
    EXPECT_EQ(read(ascii(box_)).triangles, box_);
    EXPECT_EQ(read(ascii(box_) + ascii(box_)).triangles.size(), 24);
    const std::vector<Triangle> moved = read(binary(box_), 0.5, {1, -1, 3}).triangles;
    EXPECT_EQ(moved, box_triangles({1, -1, 3}, {1.5, 0, 5}));
}

TEST_F(Stl, IsReadWithAByteOrderMarkAndPadding) {
    for (const std::string& end : {std::string("\x1a"), std::string(600, '\0'), "\r\n"s, "\n\0"s}) {
        EXPECT_EQ(read("\xef\xbb\xbf" + ascii(box_) + end).triangles, box_);
        EXPECT_EQ(read(binary(box_) + end).triangles, box_);
    }
    const std::string uncounted = binary(box_) + std::string(50, 'x');
    EXPECT_EQ(error(uncounted),
              "is truncated, or not an STL file: a binary one of 12 triangles has "
              "684 bytes, this one has 734");
}

TEST_F(Stl, CountsDegenerateTriangles) {
    box_.push_back({box_[0][0], box_[0][1], box_[0][0]});
    for (const std::string& contents : {binary(box_), ascii(box_)}) {
        const StlTriangles found = read(contents);
        EXPECT_EQ(found.triangles.size(), 12);
        EXPECT_EQ(found.degenerate, 1);
    }
    EXPECT_EQ(error(binary({box_.back()})),
              "has no triangles with an area: each of its 1 has equal corners");
}

TEST_F(Stl, ErrorsSayWhatIsWrong) {
    const std::string whole = binary(box_);
    EXPECT_EQ(error(whole.substr(0, 300)), "is truncated, or not an STL file: a binary one of 12 "
                                           "triangles has 684 bytes, this one has 300");
    EXPECT_EQ(error(""), "is not an STL file: it has 0 bytes and does not begin with 'solid'");
    EXPECT_EQ(error("v 1 2 3\n"),
              "is not an STL file: it has 8 bytes and does not begin with 'solid'");
    EXPECT_EQ(error(binary({})), "has no triangles");
    EXPECT_EQ(error("solid nothing\nendsolid nothing\n"), "has no triangles");
    const std::string text = ascii(box_);
    EXPECT_EQ(error(text.substr(0, text.rfind("endloop"))),
              "is truncated: it ends after 11 whole triangles, without 'endsolid'");
    EXPECT_EQ(error("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 zero 0\n"),
              "is not an STL file: line 4 has 'zero' instead of a number");
    EXPECT_EQ(error("solid a\nfacet normal 0 0 1\nloop\n"),
              "is not an STL file: line 3 has 'loop' instead of 'outer'");
    EXPECT_EQ(error("solid a\nfacet \xf0\x01\n"),
              "is not an STL file: line 2 has '\?\?' instead of 'normal'");
    box_[4][1][2] = nan;
    const std::string infinite = "has a coordinate that is NaN or infinite, in triangle 5";
    EXPECT_EQ(error(binary(box_)), infinite);
    EXPECT_EQ(error(ascii(box_)), infinite);
}

TEST_F(Stl, IsNotReadFromAFolderOrFromNothing) {
    const auto message = [](const std::filesystem::path& path) -> std::string {
        try {
            static_cast<void>(read_stl(path, 1, {}));
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(message(path_), "there is no file " + path_.string());
    EXPECT_EQ(message(path_.parent_path()),
              path_.parent_path().string() + " is a folder, not an STL file");
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0); // to open it would wait for a writer
    EXPECT_EQ(message(path_), path_.string() + " is a pipe or a device, not an STL file");
}

} // namespace
} // namespace uzushio::geometry
