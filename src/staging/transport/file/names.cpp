#include "staging/transport/file/names.hpp"

#include <algorithm>
#include <charconv>
#include <span>

#include "staging/wire/crc32c.hpp"

namespace uzushio::staging::file {
namespace {

std::string hexadecimal(std::uint32_t value, int digits) {
    std::string text;
    for (int i = digits - 1; i >= 0; --i)
        text += "0123456789ABCDEF"[(value >> (4 * i)) & 0xFu];
    return text;
}

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '+';
}

} // namespace

std::string step_name(std::uint64_t sequence) {
    constexpr std::size_t digits = 10;
    const std::string number = std::to_string(sequence);
    return std::string(digits - std::min(digits, number.size()), '0') + number;
}

std::optional<std::uint64_t> sequence_of(std::string_view name) {
    std::uint64_t sequence = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), sequence);
    if (error != std::errc() || end != name.data() + name.size() || step_name(sequence) != name)
        return std::nullopt;
    return sequence;
}

std::string field_name(std::string_view field) {
    constexpr std::size_t max_bytes = 200; // file systems allow 255
    // Zarr reserves names that begin with "__", and a name must not consist of dots.
    const bool kept = field.starts_with("__") || field.starts_with(".") || field == table_folder ||
                      field == document;
    std::string name;
    for (std::size_t i = 0; i < field.size(); ++i)
        if (is_plain(field[i]) && !(kept && i == 0))
            name += field[i];
        else
            name.append("%").append(hexadecimal(static_cast<unsigned char>(field[i]), 2));
    if (name.empty())
        name += '%';
    if (name.size() > max_bytes)
        name = name.substr(0, max_bytes) + "%" +
               hexadecimal(crc32c(std::as_bytes(std::span(field.data(), field.size()))), 8);
    return name;
}

std::filesystem::path step_path(const std::filesystem::path& store, std::uint64_t sequence) {
    return store / steps_folder / step_name(sequence);
}

std::filesystem::path new_step_path(const std::filesystem::path& store, std::uint64_t sequence) {
    return store / ("__new-" + step_name(sequence));
}

std::filesystem::path array_path(const std::filesystem::path& step, std::string_view field,
                                 std::uint64_t block) {
    return step / field_name(field) / std::to_string(block);
}

} // namespace uzushio::staging::file
