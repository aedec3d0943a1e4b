#pragma once

namespace uzushio::parallel {

/// Operations and traffic of a kernel by theory, as its author states them; zero means unknown.
struct Work {
    double flops = 0; ///< floating-point operations
    double bytes = 0; ///< minimum of bytes moved between memory and processor

    Work& operator+=(const Work& other) {
        flops += other.flops;
        bytes += other.bytes;
        return *this;
    }
};

} // namespace uzushio::parallel
