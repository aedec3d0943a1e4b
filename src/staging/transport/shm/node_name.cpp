#include "staging/transport/shm/node_name.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace uzushio::staging::shm {

std::string node_name() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    struct stat numbers{};
    if (boot.empty() || stat("/proc/self/ns/pid", &numbers) != 0)
        return {};
    return boot + ":" + std::to_string(numbers.st_ino) + ":" + std::to_string(geteuid());
}

} // namespace uzushio::staging::shm
