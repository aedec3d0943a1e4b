#include "geometry/stl.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace uzushio::geometry {

using domain::Vector;
using std::string_literals::operator""s;

namespace {

/// Bytes before the number of triangles, before the triangles, and of a triangle.
constexpr std::size_t header_bytes = 80, start_bytes = 84, triangle_bytes = 50;
/// Bytes of the normal of a triangle.
constexpr std::size_t normal_bytes = 12;

static_assert(std::endian::native == std::endian::little, "binary STL files are little-endian");

/// Contents of a file, with errors that name it.
struct File {
    std::string name;
    std::string bytes;
    [[noreturn]] void fail(const std::string& what) const {
        throw std::invalid_argument(name + " " + what);
    }
};

File read_file(const std::filesystem::path& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status))
        throw std::invalid_argument("there is no file " + path.string());
    File file{path.string(), {}};
    if (std::filesystem::is_directory(status))
        file.fail("is a folder, not an STL file");
    if (!std::filesystem::is_regular_file(status)) // a pipe, of which each rank would get a part
        file.fail("is a pipe or a device, not an STL file");
    errno = 0;
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    if (stream.peek() != std::ifstream::traits_type::eof())
        text << stream.rdbuf();
    if (!stream.is_open() || stream.bad() || (text.tellp() <= 0 && errno != 0))
        file.fail("cannot be read: "s + std::strerror(errno));
    file.bytes = std::move(text).str();
    return file;
}

bool is_finite(const Vector& corner) {
    return std::all_of(corner.begin(), corner.end(), [](double x) { return std::isfinite(x); });
}

/// Triangles of a file, as they are read.
class Builder {
  public:
    Builder(const File& file, double scale, const Vector& offset)
        : file_(file), scale_(scale), offset_(offset) {}

    /// Add a triangle, with positions of the file.
    void add(Triangle triangle) {
        ++number_;
        for (Vector& corner : triangle) {
            for (std::size_t a = 0; a < 3; ++a)
                corner[a] = offset_[a] + scale_ * corner[a];
            if (!is_finite(corner))
                file_.fail("has a coordinate that is NaN or infinite, in triangle " +
                           std::to_string(number_));
        }
        if (has_equal_corners(triangle))
            ++found_.degenerate;
        else
            found_.triangles.push_back(triangle);
    }
    /// Return the number of triangles that were added.
    [[nodiscard]] std::int64_t number() const { return number_; }

    StlTriangles finish() {
        if (number_ == 0)
            file_.fail("has no triangles");
        if (found_.triangles.empty())
            file_.fail("has no triangles with an area: each of its " + std::to_string(number_) +
                       " has equal corners");
        return std::move(found_);
    }

  private:
    const File& file_;
    double scale_;
    Vector offset_;
    std::int64_t number_ = 0;
    StlTriangles found_;
};

void read_binary(const File& file, std::size_t end, Builder& builder) {
    for (std::size_t at = start_bytes; at < end; at += triangle_bytes) {
        std::array<std::array<float, 3>, 3> corners;
        std::memcpy(&corners, file.bytes.data() + at + normal_bytes, sizeof corners);
        Triangle triangle;
        for (std::size_t n = 0; n < 3; ++n)
            std::copy(corners[n].begin(), corners[n].end(), triangle[n].begin());
        builder.add(triangle);
    }
}

/// Return the start of a word for a message, in which all characters can be printed.
std::string printable(const std::string& word) {
    std::string text = word.substr(0, 40);
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    return text;
}

/// Return whether a character ends a word: white space, or what old programs end files with.
bool is_space(unsigned char c) { return std::isspace(c) != 0 || c == 0 || c == '\x1a'; }

/// Words of an ASCII file, without a byte order mark.
class Words {
  public:
    explicit Words(const File& file) : file_(file), rest_(file.bytes) {
        if (constexpr std::string_view mark = "\xef\xbb\xbf"; rest_.starts_with(mark))
            rest_.remove_prefix(mark.size());
    }

    /// Return the next word in lower case; empty at the end of the file.
    std::string next() {
        skip(is_space);
        const std::string_view word = skip([](unsigned char c) { return !is_space(c); });
        std::string lower(word);
        std::transform(lower.begin(), lower.end(), lower.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return lower;
    }
    void skip_line() {
        skip([](unsigned char c) { return c != '\n'; });
    }
    void expect(const char* wanted) {
        if (const std::string word = next(); word != wanted)
            fail(word, "'"s + wanted + "'");
    }
    Vector position() {
        Vector vector;
        for (double& component : vector) {
            std::string word = next();
            const char* first = word.data() + (word.starts_with('+') ? 1 : 0);
            const char* end = word.data() + word.size();
            const auto [stop, error] = std::from_chars(first, end, component);
            if (word.empty() || stop != end || error == std::errc::invalid_argument)
                fail(word, "a number");
            if (error == std::errc::result_out_of_range) // as strtod: 0 or infinite
                component = std::strtod(first, nullptr);
        }
        return vector;
    }
    /// Throw an error for a word that was not expected; empty: the end of the file.
    [[noreturn]] void fail(const std::string& word, const std::string& wanted) const {
        if (word.empty())
            file_.fail("is truncated: it ends after " + std::to_string(triangles) +
                       " whole triangles, without 'endsolid'");
        file_.fail("is not an STL file: line " + std::to_string(line_) + " has '" +
                   printable(word) + "' instead of " + wanted);
    }

    std::int64_t triangles = 0; ///< that were read

  private:
    /// Skip characters; return them.
    template <class Skipped> std::string_view skip(const Skipped& skipped) {
        const auto end = std::find_if_not(rest_.begin(), rest_.end(), skipped);
        const std::string_view skipped_text =
            rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
        line_ += std::count(skipped_text.begin(), skipped_text.end(), '\n');
        rest_.remove_prefix(skipped_text.size());
        return skipped_text;
    }
    const File& file_;
    std::string_view rest_;
    std::int64_t line_ = 1;
};

void read_ascii(const File& file, Builder& builder) {
    Words words(file);
    for (std::string word = words.next(); !word.empty(); word = words.next()) { // several solids
        if (word != "solid")
            words.fail(word, "'solid'");
        words.skip_line();
        for (word = words.next(); word != "endsolid"; word = words.next()) {
            if (word != "facet")
                words.fail(word, "'facet' or 'endsolid'");
            words.expect("normal");
            for (int component = 0; component < 3; ++component) // not used
                words.next();
            words.expect("outer");
            words.expect("loop");
            Triangle triangle;
            for (Vector& corner : triangle) {
                words.expect("vertex");
                corner = words.position();
            }
            words.expect("endloop");
            words.expect("endfacet");
            builder.add(triangle);
            words.triangles = builder.number();
        }
        words.skip_line();
    }
}

} // namespace

StlTriangles read_stl(const std::filesystem::path& path, double scale, const Vector& offset) {
    const File file = read_file(path);
    Builder builder(file, scale, offset);
    const std::size_t size = file.bytes.size();
    std::uint32_t count = 0;
    if (size >= start_bytes)
        std::memcpy(&count, file.bytes.data() + header_bytes, sizeof count);
    const std::uint64_t expected = start_bytes + triangle_bytes * std::uint64_t{count};
    if (size >= start_bytes && size == expected) { // also where the header begins with 'solid'
        read_binary(file, expected, builder);
        return builder.finish();
    }
    // The text of an ASCII file has no zeros, the header of a binary one usually has.
    const std::string_view start = std::string_view(file.bytes).substr(0, start_bytes);
    if (Words(file).next() == "solid" && start.find('\0') == std::string_view::npos) {
        read_ascii(file, builder);
        return builder.finish();
    }
    // Some programs pad a file; whole triangles behind the last one are none that are counted.
    const std::string_view more = std::string_view(file.bytes).substr(std::min(expected, size));
    if (count > 0 && size > expected &&
        (more.size() < triangle_bytes || more.find_first_not_of('\0') == std::string_view::npos)) {
        read_binary(file, expected, builder);
        return builder.finish();
    }
    if (size < start_bytes)
        file.fail("is not an STL file: it has " + std::to_string(size) +
                  " bytes and does not begin with 'solid'");
    file.fail("is truncated, or not an STL file: a binary one of " + std::to_string(count) +
              " triangles has " + std::to_string(expected) + " bytes, this one has " +
              std::to_string(size));
}

} // namespace uzushio::geometry
