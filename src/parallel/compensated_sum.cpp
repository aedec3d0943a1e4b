#include "parallel/compensated_sum.hpp"

#include <vector>

namespace uzushio::parallel {

DoubleDouble CompensatedSum::folded() const {
    double high = 0.0;
    double low = 0.0;
    for (const double part : high_)
        add_term(high, low, part);
    for (const double part : low_)
        add_term(high, low, part);
    const double sum = high + low;
    return {sum, low - (sum - high)};
}

namespace {

/// Return sum `index` of `count` of each rank, added in the order of the ranks.
DoubleDouble total_of(const std::vector<DoubleDouble>& all, std::size_t index, std::size_t count) {
    double high = 0.0;
    double low = 0.0;
    for (std::size_t i = index; i < all.size(); i += count) {
        add_term(high, low, all[i].high);
        add_term(high, low, all[i].low);
    }
    return {high, low};
}

void sum_over_ranks(const CompensatedSum* sums, DoubleDouble* totals, std::size_t count,
                    MPI_Comm comm) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    std::vector<DoubleDouble> mine(count);
    for (std::size_t i = 0; i < count; ++i)
        mine[i] = sums[i].folded();
    std::vector<DoubleDouble> all(count * static_cast<std::size_t>(ranks));
    const int doubles = static_cast<int>(2 * count);
    MPI_Allgather(mine.data(), doubles, MPI_DOUBLE, all.data(), doubles, MPI_DOUBLE, comm);
    for (std::size_t i = 0; i < count; ++i)
        totals[i] = total_of(all, i, count);
}

} // namespace

double sum_over_ranks(const CompensatedSum& sum, MPI_Comm comm) {
    const DoubleDouble total = exact_sum_over_ranks(sum, comm);
    return total.high + total.low;
}

DoubleDouble exact_sum_over_ranks(const CompensatedSum& sum, MPI_Comm comm) {
    DoubleDouble total;
    sum_over_ranks(&sum, &total, 1, comm);
    return total;
}

void sum_over_ranks(const CompensatedSum* sums, double* values, std::size_t count, MPI_Comm comm) {
    std::vector<DoubleDouble> totals(count);
    sum_over_ranks(sums, totals.data(), count, comm);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = totals[i].high + totals[i].low;
}

PendingSums::PendingSums(std::span<const CompensatedSum> sums, MPI_Comm comm) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    for (const CompensatedSum& sum : sums)
        mine_.push_back(sum.folded());
    all_.resize(mine_.size() * static_cast<std::size_t>(ranks));
    const int doubles = static_cast<int>(2 * mine_.size());
    MPI_Iallgather(mine_.data(), doubles, MPI_DOUBLE, all_.data(), doubles, MPI_DOUBLE, comm,
                   &request_);
}

std::vector<double> PendingSums::wait() {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    std::vector<double> totals;
    for (std::size_t i = 0; i < mine_.size(); ++i) {
        const DoubleDouble total = total_of(all_, i, mine_.size());
        totals.push_back(total.high + total.low);
    }
    return totals;
}

} // namespace uzushio::parallel
