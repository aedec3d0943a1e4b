#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "domain/persistent_messages.hpp"
#include "linalg/equation.hpp"
#include "parallel/section_monitor.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::linalg {

/// Symmetric matrix of fluxes between unknowns that are distributed over ranks: row i of L x is
/// own(i) x(i) + the sum over its neighbours j of coupling(i, j) (x(i) - x(j)). Vectors have the
/// rank's own values, then those of its ghosts: neighbours on other ranks.
struct CellGraph {
    /// Values that a rank sends to and receives from another one.
    struct Peer {
        int rank;
        std::vector<std::int32_t> sent; ///< rows
        std::int32_t ghosts, count;     ///< the first place in a vector, and the number of values
    };
    /// Coupling of a row of this rank to an unknown of any rank.
    struct Entry {
        std::int32_t row;
        std::int64_t other; ///< number among the unknowns of all ranks, in the order of ranks
        double coupling;
    };

    CellGraph() = default;
    /// `own`: of this rank's unknowns; `entries`: those of a pair are added, those of an unknown
    /// with itself are left out (collective). `comm` must outlive the object.
    CellGraph(MPI_Comm comm, std::vector<double> own, const std::vector<Entry>& entries);

    [[nodiscard]] std::size_t rows() const { return own.size(); }
    [[nodiscard]] std::int64_t first() const { return firsts[static_cast<std::size_t>(rank)]; }
    /// Return the number of unknowns of all ranks.
    [[nodiscard]] std::int64_t size() const { return firsts.back(); }
    /// Return the number of an unknown of a vector among those of all ranks.
    [[nodiscard]] std::int64_t number(std::int32_t at) const {
        const auto place = static_cast<std::size_t>(at);
        return place < rows() ? first() + at : ghosts[place - rows()];
    }
    /// Return a vector of zeros.
    [[nodiscard]] std::vector<double> vector() const {
        return std::vector<double>(rows() + ghosts.size());
    }
    /// Fill the ghosts of a vector (collective). Throws `std::runtime_error` if a rank does not
    /// answer, as `HaloExchange`.
    void exchange(std::vector<double>& x, parallel::Traffic& traffic) const;
    [[nodiscard]] std::size_t bytes() const;

    int rank = 0;
    std::vector<std::int64_t> firsts{0, 0}; ///< number of the first unknown of each rank, and size
    std::vector<double> own;
    std::vector<std::int64_t> begins{0}; ///< of the rows' neighbours, and their number
    std::vector<std::int32_t> others;    ///< places in a vector
    std::vector<double> couplings;
    std::vector<double> inverse;      ///< of the diagonal; 0 where that is 0
    std::vector<std::int64_t> ghosts; ///< numbers
    std::vector<Peer> peers;
    std::shared_ptr<domain::PersistentMessages<double>> messages; ///< one to and from each peer
};

/// Return the graph of the cells of an equation: rows are those of -div(b grad x) + s x, integrated
/// over a cell, in the order of the blocks and of their cells (collective).
[[nodiscard]] CellGraph graph_of(MPI_Comm comm, const Equation& equation,
                                 parallel::Traffic& traffic, parallel::SectionMonitor& sections);

/// Aggregates of unknowns, and their matrix: the sum of fluxes between those of different ones.
struct Aggregation {
    std::vector<std::int32_t> aggregate; ///< of each row; -1: none, the coarse value is 0
    std::vector<double> strongest;       ///< coupling of an aggregate's unknowns
    CellGraph coarse;
};

/// Join each unknown with that neighbour on its rank to which it is coupled most strongly, unless
/// another coupling of it is much stronger (collective). `strongest`: couplings inside of unknowns
/// that are aggregates themselves, which relaxation of their parts does not overcome; empty: none.
[[nodiscard]] Aggregation join_pairs(MPI_Comm comm, const CellGraph& fine,
                                     std::vector<double> strongest, parallel::Traffic& traffic);

/// Return the graph of all ranks' unknowns, on each rank (collective).
[[nodiscard]] CellGraph gathered(MPI_Comm comm, const CellGraph& graph);

} // namespace uzushio::linalg
