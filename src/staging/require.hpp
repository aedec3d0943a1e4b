#pragma once

#include "staging/sentence.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging {

/// Check that throws `Error` with a sentence of these parts. In checks of each block of a step, a
/// part that costs more than the check is a function: it is called only for an error.
template <class Error> struct Require {
    template <class... Parts> void operator()(bool holds, const Parts&... parts) const {
        if (!holds)
            throw Error(sentence(parts...));
    }
};
inline constexpr Require<StagingError> require;

} // namespace uzushio::staging
