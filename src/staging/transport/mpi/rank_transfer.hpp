#pragma once

namespace uzushio::staging::mpi {

/// Transfer from one rank of a writer to one rank of a reader in a fetch. Transfers from all ranks
/// progress concurrently.
class RankTransfer {
  public:
    virtual ~RankTransfer() = default; ///< abandons operations in flight
    /// Progress without waiting. Return whether anything moved. Throws the writer's error as
    /// StagingError.
    virtual bool progress() = 0;
    [[nodiscard]] virtual bool done() const = 0;
    /// Called after a timeout: throws a more specific error if one is known.
    virtual void throw_if_unreachable() const {}
};

} // namespace uzushio::staging::mpi
