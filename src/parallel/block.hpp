#pragma once

namespace uzushio::parallel {

/// Half-open range of global indices.
struct Range {
    int begin = 0;
    int end = 0;

    [[nodiscard]] constexpr int size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

/// Return part `index` of `count` indices split into `parts` contiguous blocks whose sizes differ
/// by at most one, the larger blocks first.
[[nodiscard]] constexpr Range block(int count, int parts, int index) {
    const int base = count / parts;
    const int extra = count % parts;
    const int begin = index * base + (index < extra ? index : extra);
    return {begin, begin + base + (index < extra ? 1 : 0)};
}

} // namespace uzushio::parallel
