#include "solvers/phasefield/tile_halo.hpp"

#include <algorithm>

namespace uzushio::phasefield {

using stencil::Range;
using stencil::Rect;

TileHalo::TileHalo(const stencil::Tiling& tiling, int width)
    : tiling_(&tiling), width_(width), own_(tiling.own()) {
    const auto beyond = [&](int dx, int dy) {
        return tiling.neighbour(dx, dy) == MPI_PROC_NULL ? 0 : width;
    };
    const Range x{own_.x.begin - beyond(-1, 0), own_.x.end + beyond(1, 0)};
    strips_[south].area = {x, {own_.y.begin - beyond(0, -1), own_.y.begin}};
    strips_[north].area = {x, {own_.y.end, own_.y.end + beyond(0, 1)}};
    strips_[west].area = {{x.begin, own_.x.begin}, own_.y};
    strips_[east].area = {{own_.x.end, x.end}, own_.y};
    for (auto& strip : strips_) {
        strip.offset = size_;
        size_ += static_cast<std::size_t>(strip.area.points());
    }
}

int TileHalo::cut(int y, int begin, int end, std::array<RowPiece, 3>& pieces) const {
    if (y < own_.y.begin || y >= own_.y.end) {
        pieces[0] = {begin, end, y < own_.y.begin ? south : north};
        return end > begin ? 1 : 0;
    }
    int count = 0;
    const auto add = [&](int from, int to, int strip) {
        if (from < to)
            pieces[static_cast<std::size_t>(count++)] = {from, to, strip};
    };
    add(begin, std::min(end, own_.x.begin), west);
    add(std::max(begin, own_.x.begin), std::min(end, own_.x.end), interior);
    add(std::max(begin, own_.x.end), end, east);
    return count;
}

stencil::MessageCount TileHalo::exchange(std::span<const HaloField<double>> fields) const {
    stencil::MessageCount sent;
    // Columns first: the strips of rows then contain the corners.
    for (const Border to : {west, east, south, north})
        shift(fields, to, sent);
    return sent;
}

void TileHalo::shift(std::span<const HaloField<double>> fields, Border to,
                     stencil::MessageCount& sent) const {
    const bool across = to == west || to == east;
    const int step = to == west || to == south ? -1 : 1;
    const int target = tiling_->neighbour(across ? step : 0, across ? 0 : step);
    const int source = tiling_->neighbour(across ? -step : 0, across ? 0 : -step);
    constexpr std::array opposite{north, south, east, west};
    const Border from = opposite[static_cast<std::size_t>(to)];

    // The neighbour's halo is the strip of the same width along this tile's border.
    Rect edge = strips_[static_cast<std::size_t>(to)].area;
    const int inward = -step * width_;
    if (across)
        edge.x = {edge.x.begin + inward, edge.x.end + inward};
    else
        edge.y = {edge.y.begin + inward, edge.y.end + inward};
    const Rect& into = strips_[static_cast<std::size_t>(from)].area;
    const std::size_t send_size =
        target == MPI_PROC_NULL ? 0 : static_cast<std::size_t>(edge.points());
    const std::size_t receive_size =
        source == MPI_PROC_NULL ? 0 : static_cast<std::size_t>(into.points());

    // Limit the size of messages; the limit is computed from values that all ranks know.
    const auto max_extent = static_cast<std::size_t>(std::max(tiling_->nx(), tiling_->ny()));
    const auto max_strip =
        static_cast<std::size_t>(width_) * (max_extent + 2 * static_cast<std::size_t>(width_));
    const std::size_t max_batch = (std::size_t{1} << 21) / std::max(max_strip, std::size_t{1}) + 1;
    std::vector<double> out, in;
    for (std::size_t first = 0; first < fields.size(); first += max_batch) {
        const auto batch = fields.subspan(first, std::min(max_batch, fields.size() - first));
        out.resize(send_size * batch.size());
        in.resize(receive_size * batch.size());
        double* next = out.data();
        for (const auto& field : batch)
            for (int y = edge.y.begin; send_size != 0 && y < edge.y.end; ++y) {
                std::array<RowPiece, 3> pieces;
                const int count = cut(y, edge.x.begin, edge.x.end, pieces);
                for (int i = 0; i < count; ++i) {
                    const auto [begin, end, strip] = pieces[static_cast<std::size_t>(i)];
                    const double* values = row(field, y, strip);
                    next = std::copy(values + begin, values + end, next);
                }
            }
        MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_DOUBLE, target, to, in.data(),
                     static_cast<int>(in.size()), MPI_DOUBLE, source, to, tiling_->comm().get(),
                     MPI_STATUS_IGNORE);
        if (!out.empty() && target != tiling_->comm().rank()) {
            sent.messages += 1;
            sent.values += static_cast<std::int64_t>(out.size());
        }
        const double* received = in.data();
        if (receive_size != 0)
            for (const auto& field : batch) {
                double* to_fill = field.halo + strips_[static_cast<std::size_t>(from)].offset;
                std::copy(received, received + receive_size, to_fill);
                received += receive_size;
            }
    }
}

} // namespace uzushio::phasefield
