#include "linalg/cell_transfer.hpp"

#include <cassert>
#include <numeric>

namespace uzushio::linalg {

using domain::Index;
using domain::View;

namespace {

std::vector<int> begins_of(const std::vector<int>& counts) {
    std::vector<int> begins(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
    return begins;
}

} // namespace

CellTransfer::CellTransfer(MPI_Comm comm, const StageLayout& layout,
                           std::span<const Index<3>> cells, parallel::Traffic& traffic)
    : comm_(comm), traffic_(traffic) {
    int ranks = 1;
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks);
    const auto size = static_cast<std::size_t>(ranks);
    list_.counts.resize(size);
    array_.counts.resize(size);
    std::vector<std::int64_t> offsets; // in the arrays
    for (int rank = 0; rank < ranks; ++rank) {
        const auto& box = layout.box(rank);
        const View<const char> view(nullptr, box, 1);
        for (std::size_t c = 0; c < cells.size(); ++c)
            if (box.contains(cells[c])) {
                list_.at.push_back(static_cast<std::int64_t>(c));
                offsets.push_back(view.offset(cells[c]));
                ++list_.counts[static_cast<std::size_t>(rank)];
            }
    }
    assert(list_.at.size() == cells.size());
    MPI_Alltoall(list_.counts.data(), 1, MPI_INT, array_.counts.data(), 1, MPI_INT, comm);
    list_.begins = begins_of(list_.counts);
    array_.begins = begins_of(array_.counts);
    array_.at.resize(static_cast<std::size_t>(array_.begins.back() + array_.counts.back()));
    MPI_Alltoallv(offsets.data(), list_.counts.data(), list_.begins.data(), MPI_INT64_T,
                  array_.at.data(), array_.counts.data(), array_.begins.data(), MPI_INT64_T, comm);
    list_.buffer.resize(list_.at.size());
    array_.buffer.resize(array_.at.size());
}

void CellTransfer::exchange(Side& from, Side& to) {
    std::int64_t messages = 0;
    std::int64_t values = 0;
    for (std::size_t rank = 0; rank < from.counts.size(); ++rank)
        if (static_cast<int>(rank) != rank_ && from.counts[rank] > 0) {
            ++messages;
            values += from.counts[rank];
        }
    traffic_.add(parallel::Exchange::redistribution, messages,
                 values * std::int64_t{sizeof(double)});
    MPI_Alltoallv(from.buffer.data(), from.counts.data(), from.begins.data(), MPI_DOUBLE,
                  to.buffer.data(), to.counts.data(), to.begins.data(), MPI_DOUBLE, comm_);
}

void CellTransfer::gather(const View<const double>& array, std::span<double> values) {
    for (std::size_t n = 0; n < array_.at.size(); ++n)
        array_.buffer[n] = array.data()[array_.at[n]];
    exchange(array_, list_);
    for (std::size_t n = 0; n < list_.at.size(); ++n)
        values[static_cast<std::size_t>(list_.at[n])] = list_.buffer[n];
}

void CellTransfer::scatter(std::span<const double> values, const View<double>& array) {
    for (std::size_t n = 0; n < list_.at.size(); ++n)
        list_.buffer[n] = values[static_cast<std::size_t>(list_.at[n])];
    exchange(list_, array_);
    for (std::size_t n = 0; n < array_.at.size(); ++n)
        array.data()[array_.at[n]] = array_.buffer[n];
}

} // namespace uzushio::linalg
