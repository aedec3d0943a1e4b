#pragma once

#include <string>

#include "domain/box.hpp"
#include "domain/index.hpp"

namespace uzushio::staging {

/// One number per axis of a `Box`, in its order.
using Extent = domain::Index<3>;

/// Half-open box of indices. Axes that a mesh does not use have one index.
using Box = domain::Box<3, domain::AxisOrder::zyx>;

/// Return whether arithmetic on the box, with ghosts and bytes, fits into 64 bits: extents from 0
/// to 2^40, lower bounds within +-2^60, at most 2^56 indices.
[[nodiscard]] bool is_valid(const Box& box);

/// Return the box of untrusted numbers. A sum that exceeds 64 bits gives a box that is not valid.
[[nodiscard]] Box box_of(const Extent& start, const Extent& count);

/// "[0:4, 0:8, 2:6]", half-open ranges; under FortranMessageScope "(3:6, 1:8, 1:4)",
/// of the `dimension` axes in use, counted from x.
[[nodiscard]] std::string box_text(const Box& box, int dimension = 3);

/// "4 x 8 x 2 (along z, y, x)"; under FortranMessageScope "2 x 8 x 4 (along x, y, z)".
[[nodiscard]] std::string counts_text(const Extent& count, int dimension = 3);

/// Scope in which messages of this thread have Fortran's axes and indices: x, y, z, counted from 1,
/// with inclusive ends.
class FortranMessageScope {
  public:
    FortranMessageScope();
    FortranMessageScope(const FortranMessageScope&) = delete;
    FortranMessageScope& operator=(const FortranMessageScope&) = delete;
    ~FortranMessageScope();

  private:
    bool outer_;
};

} // namespace uzushio::staging
