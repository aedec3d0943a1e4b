#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace uzushio::staging {

/// Replace a leading "~/", or "~" alone, by the folder in HOME, as a shell does. Other paths, and
/// all paths without HOME, are returned unchanged.
inline std::filesystem::path with_home(const std::string& path) {
    const char* const home = std::getenv("HOME");
    const bool of_home = path == "~" || path.starts_with("~/");
    if (!of_home || home == nullptr || *home == '\0')
        return path;
    return std::filesystem::path(home) / path.substr(path.size() > 1 ? 2 : 1);
}

} // namespace uzushio::staging
