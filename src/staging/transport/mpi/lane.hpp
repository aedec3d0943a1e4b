#pragma once

namespace uzushio::staging::mpi {

/// What one rank of a reader gets from one rank of a writer in a fetch. Those of all ranks go on
/// side by side.
class Lane {
  public:
    virtual ~Lane() = default; ///< gives up what is under way
    /// Do what can be done without waiting. Returns whether anything moved. Throws what the writer
    /// answers, as StagingError.
    virtual bool progress() = 0;
    [[nodiscard]] virtual bool done() const = 0;
    /// Nothing has come for as long as one waits: throws why, if more is known about it than that.
    virtual void give_up() const {}
};

} // namespace uzushio::staging::mpi
