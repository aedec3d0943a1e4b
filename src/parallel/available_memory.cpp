#include "parallel/available_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace uzushio::parallel {
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

/// Return the remaining bytes of a group; nothing if it has no limit, or does not exist.
std::optional<std::size_t> remaining_in(const fs::path& group, const GroupFiles& names) {
    const auto used = number_in(group / names.used);
    const auto limit = number_in(group / names.limit);
    if (!used || !limit)
        return {};
    const std::size_t idle = std::min(*used, value_in(group / "memory.stat", names.idle_files));
    const std::size_t busy = *used - idle;
    return *limit > busy ? *limit - busy : 0;
}

/// Return the minimum over the group `path` below `mount` and the groups around it, of which the
/// last is the mount itself: in a container the path is often that of the host.
std::size_t remaining_in_groups(const fs::path& mount, const std::string& path,
                                const GroupFiles& names) {
    std::size_t left = all;
    for (fs::path group = mount / fs::path(path).relative_path();; group = group.parent_path()) {
        left = std::min(left, remaining_in(group, names).value_or(all));
        if (group == mount)
            return left;
    }
}

std::size_t remaining_in_own_groups(const fs::path& root) {
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
            left = std::min(left, remaining_in_groups(groups, path, version_2));
        else if (controllers.find(",memory,") != std::string::npos)
            left = std::min(left, remaining_in_groups(groups / "memory", path, version_1));
    }
    return left;
}

} // namespace

AvailableMemory available_memory(const fs::path& root) {
    const std::size_t kibibytes = value_in(root / "proc" / "meminfo", "MemAvailable:");
    const AvailableMemory system{kibibytes == 0 ? all : kibibytes * 1024, "free memory"};
    const AvailableMemory group{remaining_in_own_groups(root), "control group"};
    return group.bytes < system.bytes ? group : system;
}

} // namespace uzushio::parallel
