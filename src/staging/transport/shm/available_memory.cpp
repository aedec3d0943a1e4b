#include "staging/transport/shm/available_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace uzushio::staging::shm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

/// Names of a control group's files.
struct GroupFiles {
    std::string_view limit, used, idle_files;
};
constexpr GroupFiles version_2{"memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles version_1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};

/// Return the number in a file; nothing if it does not exist or contains "max".
std::optional<std::size_t> number_in(const fs::path& file) {
    std::ifstream in(file);
    std::size_t number = 0;
    if (in >> number)
        return number;
    return {};
}

/// Return the value after a name in a file of such lines; 0 if there is none.
std::size_t value_in(const fs::path& file, std::string_view wanted) {
    std::ifstream in(file);
    std::string name;
    std::size_t value = 0;
    while (in >> name >> value) {
        if (name == wanted)
            return value;
        in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return 0;
}

/// Return the remaining bytes of the group `path` below `mount`, or of the mount itself: in a
/// container the path is often that of the host.
std::size_t remaining_in(const fs::path& mount, const std::string& path, const GroupFiles& names) {
    for (const fs::path& group : {mount / fs::path(path).relative_path(), mount}) {
        const auto used = number_in(group / names.used);
        if (!used)
            continue;
        const auto limit = number_in(group / names.limit);
        if (!limit)
            return all;
        const std::size_t idle = std::min(*used, value_in(group / "memory.stat", names.idle_files));
        const std::size_t busy = *used - idle;
        return *limit > busy ? *limit - busy : 0;
    }
    return all;
}

std::size_t remaining_in_group(const fs::path& root) {
    const fs::path groups = root / "sys" / "fs" / "cgroup";
    std::ifstream own(root / "proc" / "self" / "cgroup");
    std::size_t left = all;
    for (std::string line; std::getline(own, line);) { // number:controllers:path
        const auto first = line.find(':');
        const auto second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        std::string controllers = ",";
        controllers.append(line, first + 1, second - first - 1).append(",");
        const std::string path = line.substr(second + 1);
        if (controllers == ",,")
            left = std::min(left, remaining_in(groups, path, version_2));
        else if (controllers.find(",memory,") != std::string::npos)
            left = std::min(left, remaining_in(groups / "memory", path, version_1));
    }
    return left;
}

} // namespace

std::size_t available_memory(const fs::path& root) {
    const std::size_t kibibytes = value_in(root / "proc" / "meminfo", "MemAvailable:");
    return std::min(kibibytes == 0 ? all : kibibytes * 1024, remaining_in_group(root));
}

} // namespace uzushio::staging::shm
