#include "staging/quantity.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>

namespace uzushio::staging {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr Unit sizes[] = {{"B", 1},
                          {"kB", 1e3},
                          {"MB", 1e6},
                          {"GB", 1e9},
                          {"TB", 1e12},
                          {"PB", 1e15},
                          {"KiB", 1024.0},
                          {"MiB", 1048576.0},
                          {"GiB", 1073741824.0},
                          {"TiB", 1099511627776.0}};
constexpr Unit times[] = {{"us", 1e-6}, {"µs", 1e-6},  {"ms", 1e-3},
                          {"s", 1.0},   {"min", 60.0}, {"h", 3600.0}};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    const auto first = text.find_first_not_of(blank);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

double parse(std::string_view text, std::span<const Unit> units, const char* example) {
    text = trimmed(text);
    const auto no_number = [&] {
        return std::invalid_argument("a number with a unit such as \"" + std::string(example) +
                                     "\"");
    };
    // Signs, "inf" and "nan", which from_chars accepts, are refused.
    if (text.empty() || !(text[0] == '.' || (text[0] >= '0' && text[0] <= '9')))
        throw no_number();
    double number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{})
        throw no_number();
    const std::string_view name = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
    if (name.empty())
        return number;
    const auto unit =
        std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
    if (unit != units.end())
        return number * unit->factor;
    std::string allowed;
    for (const Unit& u : units)
        allowed += (allowed.empty() ? "" : ", ") + std::string(u.name);
    throw std::invalid_argument(std::string(no_number().what()) + " in one of the units " +
                                allowed);
}

} // namespace

std::size_t parse_size(std::string_view text) {
    const double bytes = std::round(parse(text, sizes, "4 GB"));
    if (!(bytes >= 1 && bytes < 0x1p63))
        throw std::invalid_argument("a size of at least 1 B and below 9.2e18 B");
    return static_cast<std::size_t>(bytes);
}

std::chrono::nanoseconds parse_time(std::string_view text) {
    const double seconds = parse(text, times, "10 s");
    if (!(seconds <= 1e9))
        throw std::invalid_argument("a time of at most 1e9 s");
    return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

} // namespace uzushio::staging
