#pragma once

#include <span>

#include "parallel/aligned_array.hpp"
#include "parallel/section_monitor.hpp"
#include "parallel/section_names.hpp"
#include "parallel/traffic.hpp"
#include "solvers/channel/planes.hpp"
#include "solvers/channel/process_grid.hpp"

namespace uzushio::channel {

/// Exchange of ghost planes with the neighbours in z, one message to each for all fields together.
class Halo {
  public:
    /// Allocate buffers for planes of at most `doubles` values and for at most `fields` fields per
    /// exchange.
    Halo(const ProcessGrid& grid, std::size_t doubles, int fields,
         parallel::SectionMonitor& sections, parallel::Traffic& traffic);

    /// Fill the ghost plane below each field of `up` and above each field of `down` from the
    /// neighbours (collective over the column). Ghost planes beyond a wall are not changed.
    void exchange(std::span<const Planes> up, std::span<const Planes> down);

    [[nodiscard]] std::size_t bytes() const { return buffer_.bytes(); }

  private:
    const ProcessGrid& grid_;
    std::size_t buffer_doubles_;            ///< of each of the four parts
    parallel::AlignedArray<double> buffer_; ///< to above, to below, from below, from above
    parallel::SectionMonitor& sections_;
    parallel::Traffic& traffic_;
};

} // namespace uzushio::channel
