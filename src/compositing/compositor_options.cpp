#include "compositing/compositor_options.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "compositing/algorithm_spec.hpp"
#include "parallel/collective_group.hpp"

namespace uzushio::compositing {

namespace {

struct Item {
    const char* name;
    std::int64_t value;
};

/// FNV-1a hash: the same on all machines.
std::int64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const unsigned char c : text)
        hash = (hash ^ c) * 0x100000001b3U;
    return static_cast<std::int64_t>(hash);
}

std::array<Item, 11> items(const CompositorOptions& options) {
    return {{{"width", options.width},
             {"height", options.height},
             {"format", static_cast<std::int64_t>(options.format)},
             {"algorithm", hash_of(options.algorithm)},
             {"root", options.root},
             {"gather", options.gather ? 1 : 0},
             {"interlace", options.interlace},
             {"frames", options.frames},
             {"far", std::bit_cast<std::int32_t>(options.far)},
             {"fan_in", options.fan_in},
             {"ranks_per_node", options.ranks_per_node}}};
}

void require(bool valid, const std::string& what) {
    if (!valid)
        throw std::invalid_argument("compositing: " + what);
}

void check(const CompositorOptions& options, int ranks) {
    const std::string size = std::to_string(options.width) + " x " + std::to_string(options.height);
    require(options.width > 0 && options.height > 0,
            "an image has at least one pixel in each direction, not " + size);
    const long long bytes = 1LL * options.width * options.height *
                            static_cast<long long>(pixel_bytes(options.format, ChannelWidth::wide));
    require(bytes <= std::numeric_limits<int>::max(),
            "an image of " + size +
                " pixels exceeds the maximum size of a message (2 GiB): composite it in parts");
    require(options.frames >= 1,
            "'frames', the maximum number of pictures in flight, is at least 1");
    require(options.fan_in >= 2,
            "'fan_in', the number of messages gathered at a time, is at least 2");
    require(options.interlace >= 0, "'interlace', the pixels of a block, is not negative");
    require(options.limit >= 0, "'limit', the timeout of a call in seconds, is not negative");
    require(options.root >= 0 && options.root < ranks, "the root " + std::to_string(options.root) +
                                                           " is not one of the " +
                                                           std::to_string(ranks) + " ranks");
    (void)parse_algorithm(options.algorithm);
}

/// Return the first option that differs from rank 0's, null if all are equal (collective).
const char* difference_from_rank_0(MPI_Comm comm, const CompositorOptions& options) {
    const auto own = items(options);
    std::array<std::int64_t, own.size()> first{};
    for (std::size_t i = 0; i < own.size(); ++i)
        first[i] = own[i].value;
    MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_INT64_T, 0, comm);
    for (std::size_t i = 0; i < own.size(); ++i)
        if (own[i].value != first[i])
            return own[i].name;
    return nullptr;
}

} // namespace

void agree_on_options(MPI_Comm comm, const CompositorOptions& options, const std::string& problem) {
    const parallel::CollectiveGroup group(comm, "this compositor",
                                          parallel::ErrorTypes::of<std::invalid_argument>());
    const char* const different = difference_from_rank_0(comm, options);
    std::string error = problem;
    if (error.empty()) {
        try {
            check(options, group.size());
        } catch (const std::invalid_argument& mistake) {
            error = mistake.what();
        }
    }
    if (different != nullptr) { // else all ranks have the same error
        const std::string name = "rank " + std::to_string(group.rank());
        error = error.empty() ? std::string("compositing: '") + different +
                                    "' is not the same on all ranks: " + name + " and rank 0 differ"
                              : name + ": " + error;
    }
    group.agree(error.empty() ? std::nullopt : std::optional(error));
}

} // namespace uzushio::compositing
