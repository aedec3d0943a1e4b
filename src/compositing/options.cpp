#include "compositing/options.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace uzushio::compositing {

namespace {

struct Item {
    const char* name;
    std::int64_t value;
};

/// FNV-1a: the same text gives the same number on every machine.
std::int64_t number_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const unsigned char c : text)
        hash = (hash ^ c) * 0x100000001b3U;
    return static_cast<std::int64_t>(hash);
}

std::array<Item, 11> items(const Options& options) {
    return {{{"width", options.width},
             {"height", options.height},
             {"format", static_cast<std::int64_t>(options.format)},
             {"algorithm", number_of(options.algorithm)},
             {"root", options.root},
             {"gather", options.gather ? 1 : 0},
             {"interlace", options.interlace},
             {"frames", options.frames},
             {"far", std::bit_cast<std::int32_t>(options.far)},
             {"fan_in", options.fan_in},
             {"ranks_per_node", options.ranks_per_node}}};
}

} // namespace

void agree(MPI_Comm comm, const Options& options, const std::string& problem) {
    const auto own = items(options);
    std::array<std::int64_t, own.size()> first{};
    for (std::size_t i = 0; i < own.size(); ++i)
        first[i] = own[i].value;
    MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_INT64_T, 0, comm);
    // A bit for each item that is as on rank 0, and one for no problem.
    constexpr std::uint32_t sound = 1U << own.size();
    std::uint32_t same = problem.empty() ? sound : 0;
    for (std::size_t i = 0; i < own.size(); ++i)
        if (own[i].value == first[i])
            same |= 1U << i;
    const std::uint32_t here = same;
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_UINT32_T, MPI_BAND, comm);
    if (!problem.empty())
        throw std::invalid_argument(problem);
    for (std::size_t i = 0; i < own.size(); ++i)
        if ((same >> i & 1U) == 0)
            throw std::invalid_argument(
                std::string("compositing: '") + own[i].name +
                "' is not the same on all ranks, as it must be: this one has " +
                ((here >> i & 1U) == 0 ? "another one than rank 0" : "the one of rank 0"));
    if ((same & sound) == 0)
        throw std::invalid_argument(
            "compositing: another rank was given options that make no sense, and says which");
}

} // namespace uzushio::compositing
