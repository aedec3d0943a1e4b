#include "stencil/compensated_sum.hpp"

#include <vector>

namespace uzushio::stencil {

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
    for (std::size_t i = 0; i < count; ++i) {
        double high = 0.0;
        double low = 0.0;
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
            add_term(high, low, all[rank * count + i].high);
            add_term(high, low, all[rank * count + i].low);
        }
        totals[i] = {high, low};
    }
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

} // namespace uzushio::stencil
