#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "domain/box.hpp"
#include "parallel/threads.hpp"

namespace uzushio::domain {

/// Cut of a box into parts of consecutive planes (rows, if it has one plane), one for each thread
/// of this rank; fewer if they had too few indices to be worth a thread.
class Parts {
  public:
    explicit Parts(const Box<3>& box)
        : box_(box), axis_(box.extent(2) > 1 ? 2 : 1), threads_(parallel::thread_count()),
          count_(static_cast<int>(
              std::clamp<std::int64_t>(std::min(box.extent(axis_), box.volume() / min_indices), 1,
                                       static_cast<std::int64_t>(threads_)))) {}

    [[nodiscard]] int count() const { return count_; }
    [[nodiscard]] Box<3> part(int index) const {
        Box<3> part = box_;
        const std::int64_t planes = box_.extent(axis_);
        part.lower[axis_] = box_.lower[axis_] + index * planes / count_;
        part.upper[axis_] = box_.lower[axis_] + (index + 1) * planes / count_;
        return part;
    }
    /// Call `call(index)` for each part, on its thread.
    template <class Call> void run(Call&& call) const {
        parallel::on_threads(threads_, count_, call);
    }

  private:
    static constexpr std::int64_t min_indices = 8192;

    Box<3> box_;
    std::size_t axis_;
    int threads_, count_;
};

/// Call `call(part)` for the parts of a box, at the same time on the threads of this rank. What
/// each call writes no other one may read or write.
template <class Call> void for_parts(const Box<3>& box, Call&& call) {
    const Parts parts(box);
    parts.run([&](int index) { call(parts.part(index)); });
}

/// Call `visit(first, size)` for the rows of a box as `for_rows`, on the threads of this rank.
template <class Visit> void for_rows_on_threads(const Box<3>& box, Visit&& visit) {
    for_parts(box, [&](const Box<3>& part) { for_rows(part, visit); });
}

/// Return the values of `call(part)` for the parts of a box, lowest first; calls are as in
/// `for_parts`.
template <class Call> auto values_of_parts(const Box<3>& box, Call&& call) {
    const Parts parts(box);
    std::vector<decltype(call(box))> values(static_cast<std::size_t>(parts.count()));
    parts.run(
        [&](int index) { values[static_cast<std::size_t>(index)] = call(parts.part(index)); });
    return values;
}

} // namespace uzushio::domain
