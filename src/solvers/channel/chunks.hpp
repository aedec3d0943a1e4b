#pragma once

#include <algorithm>

#include "parallel/block.hpp"
#include "parallel/threads.hpp"

namespace uzushio::channel {

/// Call `call(thread, chunk)` for chunks of at most `size` of `count` modes or planes, on several
/// threads. Each thread has consecutive chunks, which do not depend on the number of threads.
template <class Call> void for_chunks(int threads, int count, int size, Call&& call) {
    const int chunks = (count + size - 1) / size;
    parallel::on_threads(threads, threads, [&](int thread) {
        const auto mine = parallel::block(chunks, threads, thread);
        for (int index = mine.begin; index < mine.end; ++index)
            call(thread, parallel::Range{index * size, std::min(count, (index + 1) * size)});
    });
}

} // namespace uzushio::channel
