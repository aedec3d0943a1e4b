// Pictures in a row whose visibility orders change, each known exactly to every rank: a pixel of a
// rank's image is opaque or background, and names picture and rank.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include "compositing/pixel.hpp"

namespace uzushio::test {

/// The communicators of a job cut in two: the first `first` ranks, and the others. Both composite
/// at the same time, so that a job of nine ranks covers all numbers from 1 to 9 in five cuts.
class Halves {
  public:
    explicit Halves(int first) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_split(MPI_COMM_WORLD, rank < first ? 0 : 1, rank, &comm_);
    }
    ~Halves() { MPI_Comm_free(&comm_); }
    Halves(const Halves&) = delete;
    Halves& operator=(const Halves&) = delete;

    /// Communicator of the half that this rank is in.
    [[nodiscard]] MPI_Comm comm() const { return comm_; }

    /// Cuts that make all numbers of ranks up to that of the job; 0 leaves it whole.
    static std::vector<int> cuts() {
        int ranks = 1;
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        std::vector<int> found(static_cast<std::size_t>(ranks / 2 + 1));
        std::iota(found.begin(), found.end(), 0);
        return found;
    }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/// The order of picture `k`: rank 0 is in it or not, each rank is out for long, nobody is in it.
inline std::vector<int> order_of(int k, int ranks) {
    std::vector<int> order(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    const auto part = [&](int from, int to) {
        return std::vector<int>(order.begin() + std::min(from, ranks),
                                order.begin() + std::min(to, ranks));
    };
    switch (k / 40 % 5) {
    case 0: // the first rank is in none
        return part(1, ranks);
    case 1: // the last one is in every third
        return part(0, k % 3 == 0 ? ranks : ranks - 1);
    case 2: // one rank alone, or nobody
        return k % 7 == 0 ? std::vector<int>{} : std::vector<int>{k % ranks};
    case 3: // first one half of the ranks, then the other
        return k % 11 < 5 ? part(0, (ranks + 1) / 2) : part(ranks / 2, ranks);
    default: // any of them in any order
        std::mt19937 random(static_cast<unsigned>(k));
        std::shuffle(order.begin(), order.end(), random);
        order.resize(random() % (static_cast<unsigned>(ranks) + 1));
        return order;
    }
}

/// The pixel of column `x` in a rank's image of picture `k`, and whether it is there.
template <class Pixel> Pixel pixel_of(int k, int rank, int x, float far, bool& opaque) {
    using namespace compositing;
    opaque = (5 * x + 3 * rank + k) % 8 < 3;
    const auto byte = [&](int value) { return static_cast<std::uint8_t>(opaque ? value : 0); };
    const Rgba8 colour{byte(1 + k % 255), byte(1 + k / 255), byte(1 + rank), byte(255)};
    if constexpr (std::is_same_v<Pixel, Rgba8>)
        return colour;
    else if constexpr (std::is_same_v<Pixel, RgbaFloat>)
        return {static_cast<float>(colour.r), static_cast<float>(colour.g),
                static_cast<float>(colour.b), opaque ? 1.0F : 0.0F};
    else
        return {colour, opaque ? static_cast<float>((5 * rank + k) % 3) : far};
}

/// A rank's image of picture `k`: all rows are alike.
template <class Pixel> void draw(std::span<Pixel> image, int width, int k, int rank, float far) {
    bool opaque = false;
    for (int x = 0; x < width; ++x)
        image[static_cast<std::size_t>(x)] = pixel_of<Pixel>(k, rank, x, far, opaque);
    for (auto row = static_cast<std::size_t>(width); row < image.size();
         row += static_cast<std::size_t>(width))
        std::copy_n(image.begin(), width, image.begin() + static_cast<std::ptrdiff_t>(row));
}

/// The row that all rows of picture `k` are: of each column the pixel in front, or the nearest.
template <class Pixel>
std::vector<Pixel> row_of(int k, std::span<const int> order, int width, float far) {
    std::vector<Pixel> row;
    bool opaque = false;
    for (int x = 0; x < width; ++x) {
        Pixel found{};
        if constexpr (std::is_same_v<Pixel, compositing::Rgba8Depth>)
            found.depth = far;
        bool taken = false;
        for (const int rank : order) {
            const auto pixel = pixel_of<Pixel>(k, rank, x, far, opaque);
            if constexpr (std::is_same_v<Pixel, compositing::Rgba8Depth>) {
                if (opaque && pixel.depth < found.depth)
                    found = pixel;
            } else if (opaque && !taken) {
                found = pixel;
                taken = true;
            }
        }
        row.push_back(found);
    }
    return row;
}

} // namespace uzushio::test
