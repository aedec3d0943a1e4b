#include "phasefield/frame.hpp"

#include <algorithm>

namespace uzushio::phasefield {

using stencil::Range;
using stencil::Rect;

Frame::Frame(const stencil::Tiling& tiling, int width)
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

int Frame::cut(int y, int begin, int end, std::array<Piece, 3>& pieces) const {
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
    add(std::max(begin, own_.x.begin), std::min(end, own_.x.end), inside);
    add(std::max(begin, own_.x.end), end, east);
    return count;
}

stencil::Sent Frame::exchange(std::span<const Layer<double>> layers) const {
    stencil::Sent sent;
    // Columns first: the strips of rows then carry the corners.
    for (const Side to : {west, east, south, north})
        shift(layers, to, sent);
    return sent;
}

void Frame::shift(std::span<const Layer<double>> layers, Side to, stencil::Sent& sent) const {
    const bool across = to == west || to == east;
    const int step = to == west || to == south ? -1 : 1;
    const int target = tiling_->neighbour(across ? step : 0, across ? 0 : step);
    const int source = tiling_->neighbour(across ? -step : 0, across ? 0 : -step);
    constexpr std::array opposite{north, south, east, west};
    const Side from = opposite[static_cast<std::size_t>(to)];

    // What the neighbour lacks lies along our own edge, and is as wide as its strip.
    Rect edge = strips_[static_cast<std::size_t>(to)].area;
    const int inward = -step * width_;
    if (across)
        edge.x = {edge.x.begin + inward, edge.x.end + inward};
    else
        edge.y = {edge.y.begin + inward, edge.y.end + inward};
    const Rect& into = strips_[static_cast<std::size_t>(from)].area;
    const std::size_t leaving =
        target == MPI_PROC_NULL ? 0 : static_cast<std::size_t>(edge.points());
    const std::size_t got = source == MPI_PROC_NULL ? 0 : static_cast<std::size_t>(into.points());

    // As many layers at a time as a message of moderate size holds, by what all ranks know.
    const auto longest = static_cast<std::size_t>(std::max(tiling_->nx(), tiling_->ny()));
    const auto thickest =
        static_cast<std::size_t>(width_) * (longest + 2 * static_cast<std::size_t>(width_));
    const std::size_t most = (std::size_t{1} << 21) / std::max(thickest, std::size_t{1}) + 1;
    std::vector<double> out, in;
    for (std::size_t first = 0; first < layers.size(); first += most) {
        const auto batch = layers.subspan(first, std::min(most, layers.size() - first));
        out.resize(leaving * batch.size());
        in.resize(got * batch.size());
        double* next = out.data();
        for (const auto& layer : batch)
            for (int y = edge.y.begin; leaving != 0 && y < edge.y.end; ++y) {
                std::array<Piece, 3> pieces;
                const int count = cut(y, edge.x.begin, edge.x.end, pieces);
                for (int i = 0; i < count; ++i) {
                    const auto [begin, end, strip] = pieces[static_cast<std::size_t>(i)];
                    const double* values = row(layer, y, strip);
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
        const double* taken = in.data();
        if (got != 0)
            for (const auto& layer : batch) {
                double* to_fill = layer.frame + strips_[static_cast<std::size_t>(from)].offset;
                std::copy(taken, taken + got, to_fill);
                taken += got;
            }
    }
}

} // namespace uzushio::phasefield
