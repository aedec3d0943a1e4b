#pragma once

#include <mpi.h>

#include <memory>
#include <span>

#include "domain/redistribution_plan.hpp"
#include "domain/view.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::domain {

/// Redistribution of values from M parts to N parts, with one message to each rank. Planned once.
///
/// T: double or float.
template <class T> class Redistribution {
  public:
    /// Prepare the messages of arrays with `components` components (collective; the same plan on
    /// all ranks). `traffic` must outlive the object. Throws `std::invalid_argument` if a part's
    /// rank is not in `comm`.
    Redistribution(MPI_Comm comm, const RedistributionPlan& plan, int components,
                   parallel::Traffic& traffic);
    Redistribution(Redistribution&&) noexcept;
    Redistribution& operator=(Redistribution&&) noexcept;
    ~Redistribution();

    /// Copy from this rank's sources to all ranks' targets (collective). Arrays are those of this
    /// rank's parts, in the order of the lists; they may be larger than their parts, for example
    /// with ghost layers. Values of targets that no source contains are not changed. Throws
    /// `std::invalid_argument`, before any message, if an array does not contain its part.
    void run(std::span<const View<const T>> sources, std::span<const View<T>> targets);

    /// Messages that this rank sends, and the bytes in them.
    [[nodiscard]] std::int64_t messages() const;
    [[nodiscard]] std::int64_t bytes() const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace uzushio::domain
