#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "domain/box.hpp"
#include "parallel/threads.hpp"

namespace uzushio::domain {

/// Part `index` of `count` of a box: consecutive planes, or rows if it has one plane. A part may be
/// empty.
[[nodiscard]] inline Box<3> part_of(Box<3> box, int index, int count) {
    const std::size_t axis = box.extent(2) > 1 ? 2 : 1;
    const std::int64_t lower = box.lower[axis], planes = box.extent(axis);
    box.lower[axis] = lower + index * planes / count;
    box.upper[axis] = lower + (index + 1) * planes / count;
    return box;
}

/// Return the number of parts, each for one thread, into which work on so many indices is divided.
[[nodiscard]] inline int part_count(std::int64_t indices) {
    constexpr std::int64_t min_indices = 8192; // worth a thread
    return static_cast<int>(
        std::clamp<std::int64_t>(indices / min_indices, 1, parallel::thread_count()));
}

/// Call `call(result, n, part)` for the parts of each box n, in the order of the boxes on each
/// thread of this rank; each thread has a result of its own, which begins as `Result{}`. Return the
/// results, that of the lowest parts first. Small boxes have fewer threads. What a call writes no
/// other one may read or write.
template <class Result, class Call>
std::vector<Result> results_of_parts(std::span<const Box<3>> boxes, Call&& call) {
    std::int64_t volume = 0;
    for (const Box<3>& box : boxes)
        volume += box.volume();
    const int count = part_count(volume);
    std::vector<Result> results(static_cast<std::size_t>(count));
    parallel::on_threads(parallel::thread_count(), count, [&](int index) {
        Result result{};
        for (std::size_t n = 0; n < boxes.size(); ++n)
            call(result, n, part_of(boxes[n], index, count));
        results[static_cast<std::size_t>(index)] = result;
    });
    return results;
}

/// Call `call(n, part)` for the parts of each box n, as `results_of_parts`.
template <class Call> void for_parts(std::span<const Box<3>> boxes, Call&& call) {
    struct None {};
    static_cast<void>(results_of_parts<None>(
        boxes, [&](None&, std::size_t n, const Box<3>& part) { call(n, part); }));
}

/// Call `call(part)` for the parts of one box.
template <class Call> void for_parts(const Box<3>& box, Call&& call) {
    for_parts(std::span(&box, 1), [&](std::size_t, const Box<3>& part) { call(part); });
}

/// Call `call(number, part)` for the parts of one box, with the number of each.
template <class Call> void for_numbered_parts(const Box<3>& box, Call&& call) {
    const int count = part_count(box.volume());
    parallel::on_threads(parallel::thread_count(), count, [&](int number) {
        call(static_cast<std::size_t>(number), part_of(box, number, count));
    });
}

/// Call `visit(first, size)` for the rows of a box as `for_rows`, on the threads of this rank.
template <class Visit> void for_rows_on_threads(const Box<3>& box, Visit&& visit) {
    for_parts(box, [&](const Box<3>& part) { for_rows(part, visit); });
}

} // namespace uzushio::domain
