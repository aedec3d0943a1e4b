#include "staging/file_lock.hpp"

#include <sys/file.h>

#include <cerrno>

namespace uzushio::staging {

bool try_lock(int descriptor) {
    while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0)
        if (errno != EINTR)
            return errno != EWOULDBLOCK && errno != EACCES;
    return true;
}

} // namespace uzushio::staging
