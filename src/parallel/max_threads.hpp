#pragma once

namespace uzushio::parallel {

/// Maximum number of threads of a rank: the OpenMP runtime keeps what it starts a team with on the
/// stack, and tens of thousands of threads overflow it.
inline constexpr int max_threads = 1024;

} // namespace uzushio::parallel
