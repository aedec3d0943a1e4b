#pragma once

namespace uzushio::parallel {

/// Maximum number of threads of a rank. The OpenMP runtime stores the data of a thread team on the
/// stack, which tens of thousands of threads overflow.
inline constexpr int max_threads = 1024;

} // namespace uzushio::parallel
