#include "solvers/channel/halo.hpp"

#include <algorithm>

namespace uzushio::channel {

namespace {

constexpr int tag_up = 11;
constexpr int tag_down = 12;

} // namespace

Halo::Halo(const ProcessGrid& grid, std::size_t doubles, int fields,
           parallel::SectionMonitor& sections, parallel::Traffic& traffic)
    : grid_(grid), buffer_doubles_(doubles * static_cast<std::size_t>(fields)),
      buffer_(grid.pz() > 1 ? 4 * buffer_doubles_ : 0), sections_(sections), traffic_(traffic) {}

void Halo::exchange(std::span<const Planes> up, std::span<const Planes> down) {
    if (grid_.pz() == 1)
        return;
    sections_.mark();
    double* const to_above = buffer_.data();
    double* const to_below = to_above + buffer_doubles_;
    double* const from_below = to_below + buffer_doubles_;
    double* const from_above = from_below + buffer_doubles_;
    const auto count = [](std::span<const Planes> fields) {
        return fields.empty() ? 0 : 2 * fields[0].modes * static_cast<int>(fields.size());
    };
    const MPI_Comm comm = grid_.column().get();
    MPI_Request requests[4];
    MPI_Irecv(from_below, count(up), MPI_DOUBLE, grid_.below(), tag_up, comm, &requests[0]);
    MPI_Irecv(from_above, count(down), MPI_DOUBLE, grid_.above(), tag_down, comm, &requests[1]);

    double* end = to_above;
    for (const auto& field : up)
        end = std::copy_n(field.re(field.planes - 1), 2 * field.modes, end);
    MPI_Isend(to_above, count(up), MPI_DOUBLE, grid_.above(), tag_up, comm, &requests[2]);
    end = to_below;
    for (const auto& field : down)
        end = std::copy_n(field.re(0), 2 * field.modes, end);
    MPI_Isend(to_below, count(down), MPI_DOUBLE, grid_.below(), tag_down, comm, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);

    if (grid_.below() != MPI_PROC_NULL)
        for (const double* from = from_below; const auto& field : up) {
            std::copy_n(from, 2 * field.modes, field.re(-1));
            from += 2 * field.modes;
        }
    if (grid_.above() != MPI_PROC_NULL)
        for (const double* from = from_above; const auto& field : down) {
            std::copy_n(from, 2 * field.modes, field.re(field.planes));
            from += 2 * field.modes;
        }
    const auto messages = [](int neighbour, int values) {
        return neighbour != MPI_PROC_NULL && values > 0 ? 1 : 0;
    };
    const int above = messages(grid_.above(), count(up));
    const int below = messages(grid_.below(), count(down));
    traffic_.add(parallel::Exchange::halo, above + below,
                 8LL * (above * count(up) + below * count(down)));
    sections_.lap(parallel::section::wait);
}

} // namespace uzushio::channel
