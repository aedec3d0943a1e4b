#pragma once

#include <mpi.h>

#include <memory>
#include <span>

#include "domain/redistribution_plan.hpp"
#include "domain/view.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::domain {

/// Moves values from M parts to N parts, in one message to each rank. Planned once.
///
/// T: double or float.
template <class T> class Redistribution {
  public:
    /// For arrays of so many components (collective; all ranks give the same plan). `traffic` must
    /// outlive the object. Throws `std::invalid_argument` if a part's rank is not one of `comm`.
    Redistribution(MPI_Comm comm, const RedistributionPlan& plan, int components,
                   parallel::Traffic& traffic);
    Redistribution(Redistribution&&) noexcept;
    Redistribution& operator=(Redistribution&&) noexcept;
    ~Redistribution();

    /// Copy from this rank's sources to all ranks' targets (collective). Arrays come in the order
    /// of the lists, of this rank's parts alone, and may be larger than their parts: those with
    /// ghost layers are. Values of targets that no source has are left alone. Throws
    /// `std::invalid_argument`, before any message, if an array does not hold its part.
    void run(std::span<const View<const T>> sources, std::span<const View<T>> targets);

    /// Messages that this rank sends, and the bytes in them.
    [[nodiscard]] std::int64_t messages() const;
    [[nodiscard]] std::int64_t bytes() const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace uzushio::domain
