#include "linalg/cell_graph.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "linalg/grid_operator.hpp"

namespace uzushio::linalg {

using domain::Index;

CellGraph::CellGraph(MPI_Comm comm, std::vector<double> own_values,
                     const std::vector<Entry>& entries)
    : own(std::move(own_values)) {
    int ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    firsts.assign(static_cast<std::size_t>(ranks) + 1, 0);
    const auto count = static_cast<std::int64_t>(rows());
    MPI_Allgather(&count, 1, MPI_INT64_T, firsts.data() + 1, 1, MPI_INT64_T, comm);
    std::partial_sum(firsts.begin(), firsts.end(), firsts.begin());
    const auto is_here = [&](std::int64_t other) {
        return other >= first() && other < first() + count;
    };
    for (const Entry& entry : entries)
        if (!is_here(entry.other))
            ghosts.push_back(entry.other);
    std::sort(ghosts.begin(), ghosts.end());
    ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());

    // Entries by row, and those of a row by the unknown's number.
    std::vector<std::size_t> places(rows() + 1);
    for (const Entry& entry : entries)
        ++places[static_cast<std::size_t>(entry.row) + 1];
    std::partial_sum(places.begin(), places.end(), places.begin());
    std::vector<std::pair<std::int64_t, double>> sorted(entries.size());
    auto next = places;
    for (const Entry& entry : entries)
        sorted[next[static_cast<std::size_t>(entry.row)]++] = {entry.other, entry.coupling};
    for (std::size_t row = 0; row < rows(); ++row) {
        const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(places[row]);
        const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(places[row + 1]);
        std::stable_sort(begin, end,
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        double diagonal = own[row];
        std::int64_t last = -1;
        for (auto at = begin; at != end; ++at) {
            const auto [other, coupling] = *at;
            if (other == first() + static_cast<std::int64_t>(row))
                continue;
            diagonal += coupling;
            if (other == std::exchange(last, other)) {
                couplings.back() += coupling;
                continue;
            }
            const auto ghost = std::lower_bound(ghosts.begin(), ghosts.end(), other);
            others.push_back(static_cast<std::int32_t>(
                is_here(other) ? other - first() : count + (ghost - ghosts.begin())));
            couplings.push_back(coupling);
        }
        begins.push_back(static_cast<std::int64_t>(others.size()));
        inverse.push_back(diagonal > 0 ? 1 / diagonal : 0);
    }

    // The matrix is symmetric: a rank is sent what is coupled to its unknowns, in their order.
    for (std::size_t at = 0; at < ghosts.size();) {
        const auto owner = std::upper_bound(firsts.begin(), firsts.end(), ghosts[at]) - 1;
        const auto end = static_cast<std::size_t>(
            std::lower_bound(ghosts.begin(), ghosts.end(), *(owner + 1)) - ghosts.begin());
        peers.push_back({static_cast<int>(owner - firsts.begin()),
                         {},
                         static_cast<std::int32_t>(rows() + at),
                         static_cast<std::int32_t>(end - at)});
        at = end;
    }
    for (Peer& peer : peers)
        for (std::size_t row = 0; row < rows(); ++row)
            if (std::any_of(others.begin() + begins[row], others.begin() + begins[row + 1],
                            [&](std::int32_t other) {
                                return other >= peer.ghosts && other < peer.ghosts + peer.count;
                            }))
                peer.sent.push_back(static_cast<std::int32_t>(row));
    constexpr int tag = 23;
    messages = std::make_shared<domain::PersistentMessages<double>>(comm, tag);
    for (const Peer& peer : peers) {
        messages->add_receive(peer.rank, peer.count);
        messages->add_send(peer.rank, static_cast<std::int64_t>(peer.sent.size()));
    }
}

void CellGraph::exchange(std::vector<double>& x, parallel::Traffic& traffic) const {
    if (peers.empty())
        return;
    messages->begin([&](std::size_t p, double* values) {
        for (const std::int32_t row : peers[p].sent)
            *values++ = x[static_cast<std::size_t>(row)];
    });
    messages->end(domain::exchange_limit, [&](std::size_t p, const double* values) {
        std::copy_n(values, peers[p].count, x.begin() + peers[p].ghosts);
    });
    traffic.add(parallel::Exchange::halo, messages->sent(), messages->sent_bytes());
}

std::size_t CellGraph::bytes() const {
    const std::size_t sent = messages ? static_cast<std::size_t>(messages->sent_bytes()) : 0;
    return 2 * sent + (2 * own.size() + couplings.size()) * sizeof(double) +
           (begins.size() + ghosts.size()) * sizeof(std::int64_t) +
           others.size() * sizeof(std::int32_t);
}

CellGraph graph_of(MPI_Comm comm, const Equation& equation, parallel::Traffic& traffic,
                   parallel::SectionMonitor& sections) {
    GridOperator<double> a(comm, without_coefficient(equation), traffic, sections);
    const auto& axes = a.axes();
    domain::Field<double> numbers = a.field();
    std::int64_t rows = 0;
    for (std::size_t block = 0; block < numbers.blocks(); ++block)
        rows += numbers.owned(block).volume();
    std::int64_t number = 0;
    MPI_Exscan(&rows, &number, 1, MPI_INT64_T, MPI_SUM, comm);
    if (a.rank() == 0)
        number = 0;
    for (std::size_t block = 0; block < numbers.blocks(); ++block)
        for_indices(numbers.owned(block), [&](const Index<3>& at) {
            numbers.view(block)(at) = static_cast<double>(number++);
        });
    a.exchange(numbers);

    std::vector<double> own;
    std::vector<CellGraph::Entry> entries;
    for (std::size_t block = 0; block < numbers.blocks(); ++block)
        for_indices(numbers.owned(block), [&](const Index<3>& at) {
            std::array<double, 3> widths{};
            for (std::size_t d = 0; d < 3; ++d)
                widths[d] = axes[d].widths[static_cast<std::size_t>(at[d])];
            const double volume = widths[0] * widths[1] * widths[2];
            double kept = equation.s * volume;
            for (std::size_t d = 0; d < 3; ++d)
                for (const bool upper : {false, true}) {
                    const Index<3> face = domain::moved(at, d, upper ? 1 : 0);
                    const double inverse = axes[d].reciprocal_distance(static_cast<int>(face[d]));
                    if (inverse == 0)
                        continue;
                    const double b = equation.b ? equation.b->view(block, d)(face) : 1.0;
                    const double coupling = b * inverse * volume / widths[d];
                    const Index<3> other = domain::moved(at, d, upper ? 1 : -1);
                    if (!axes[d].periodic() && (other[d] < 0 || other[d] >= axes[d].cells()))
                        kept += coupling; // to a boundary's value
                    else if (coupling > 0 || !numbers.owned(block).contains(other))
                        entries.push_back({static_cast<std::int32_t>(own.size()),
                                           static_cast<std::int64_t>(numbers.view(block)(other)),
                                           coupling});
                }
            own.push_back(kept);
        });
    return CellGraph(comm, std::move(own), entries);
}

Aggregation join_pairs(MPI_Comm comm, const CellGraph& fine, std::vector<double> strongest,
                       parallel::Traffic& traffic) {
    constexpr double strong = 0.25; // of the strongest coupling
    strongest.resize(fine.rows());
    for (std::size_t row = 0; row < fine.rows(); ++row)
        for (auto n = fine.begins[row]; n < fine.begins[row + 1]; ++n)
            strongest[row] = std::max(strongest[row], fine.couplings[static_cast<std::size_t>(n)]);
    // Relaxation alone solves these.
    const auto is_left_out = [&](std::size_t row) {
        return strong * fine.own[row] >= strongest[row];
    };
    Aggregation result;
    auto& aggregate = result.aggregate;
    aggregate.assign(fine.rows(), -1);
    std::vector<int> sizes; // of the aggregates
    for (std::size_t row = 0; row < fine.rows(); ++row) {
        if (aggregate[row] >= 0 || is_left_out(row))
            continue;
        std::size_t best = row, neighbour = row;
        double most = 0, most_of_neighbour = 0;
        for (auto n = fine.begins[row]; n < fine.begins[row + 1]; ++n) {
            const auto other = static_cast<std::size_t>(fine.others[static_cast<std::size_t>(n)]);
            const double coupling = fine.couplings[static_cast<std::size_t>(n)];
            if (other >= fine.rows() || coupling < strong * strongest[row] ||
                coupling < strong * fine.own[row] || is_left_out(other))
                continue;
            if (aggregate[other] < 0) {
                if (coupling > most)
                    most = coupling, best = other;
            } else if (coupling > most_of_neighbour &&
                       sizes[static_cast<std::size_t>(aggregate[other])] < 3) {
                most_of_neighbour = coupling, neighbour = other;
            }
        }
        if (best == row && neighbour != row) {
            aggregate[row] = aggregate[neighbour];
            ++sizes[static_cast<std::size_t>(aggregate[row])];
            continue;
        }
        aggregate[row] = aggregate[best] = static_cast<std::int32_t>(sizes.size());
        sizes.push_back(best == row ? 1 : 2);
    }

    std::vector<double> own(sizes.size());
    result.strongest.resize(sizes.size());
    for (std::size_t row = 0; row < fine.rows(); ++row) {
        if (aggregate[row] < 0)
            continue;
        const auto at = static_cast<std::size_t>(aggregate[row]);
        own[at] += fine.own[row];
        result.strongest[at] = std::max(result.strongest[at], strongest[row]);
    }
    const auto count = static_cast<std::int64_t>(sizes.size());
    std::int64_t first = 0;
    MPI_Exscan(&count, &first, 1, MPI_INT64_T, MPI_SUM, comm);
    if (fine.rank == 0)
        first = 0;
    std::vector<double> numbers = fine.vector();
    for (std::size_t row = 0; row < fine.rows(); ++row)
        numbers[row] = aggregate[row] < 0 ? -1.0 : static_cast<double>(first + aggregate[row]);
    fine.exchange(numbers, traffic);
    std::vector<CellGraph::Entry> entries;
    for (std::size_t row = 0; row < fine.rows(); ++row)
        for (auto n = fine.begins[row]; aggregate[row] >= 0 && n < fine.begins[row + 1]; ++n) {
            const auto place = static_cast<std::size_t>(n);
            const auto other = static_cast<std::size_t>(fine.others[place]);
            if (numbers[other] < 0)
                own[static_cast<std::size_t>(aggregate[row])] += fine.couplings[place];
            else if (other >= fine.rows() || aggregate[other] != aggregate[row])
                entries.push_back({aggregate[row], static_cast<std::int64_t>(numbers[other]),
                                   fine.couplings[place]});
        }
    result.coarse = CellGraph(comm, std::move(own), entries);
    return result;
}

namespace {

/// Return the values of all ranks, in their order.
template <class T>
std::vector<T> all_values(MPI_Comm comm, const std::vector<T>& values, MPI_Datatype type) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    const int count = static_cast<int>(values.size());
    std::vector<int> counts(static_cast<std::size_t>(ranks)), begins(counts.size());
    MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
    std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
    std::vector<T> all(static_cast<std::size_t>(begins.back() + counts.back()));
    MPI_Allgatherv(values.data(), count, type, all.data(), counts.data(), begins.data(), type,
                   comm);
    return all;
}

} // namespace

CellGraph gathered(MPI_Comm comm, const CellGraph& graph) {
    std::vector<std::int64_t> numbers, rows;
    for (std::size_t row = 0; row < graph.rows(); ++row)
        for (auto n = graph.begins[row]; n < graph.begins[row + 1]; ++n) {
            rows.push_back(graph.first() + static_cast<std::int64_t>(row));
            numbers.push_back(graph.number(graph.others[static_cast<std::size_t>(n)]));
        }
    rows = all_values(comm, rows, MPI_INT64_T);
    numbers = all_values(comm, numbers, MPI_INT64_T);
    const auto couplings = all_values(comm, graph.couplings, MPI_DOUBLE);
    std::vector<CellGraph::Entry> entries;
    for (std::size_t n = 0; n < rows.size(); ++n)
        entries.push_back({static_cast<std::int32_t>(rows[n]), numbers[n], couplings[n]});
    return CellGraph(MPI_COMM_SELF, all_values(comm, graph.own, MPI_DOUBLE), entries);
}

} // namespace uzushio::linalg
