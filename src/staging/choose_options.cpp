#include "staging/choose_options.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "staging/home_path.hpp"
#include "staging/require.hpp"
#include "staging/stream_group.hpp"

namespace uzushio::staging {

EngineOptions choose_options(const std::filesystem::path& file, MPI_Comm comm) {
    const parallel::CollectiveGroup group = stream_group(comm);
    std::string yaml;
    const std::string where = group.from_root([&]() -> std::string {
        const char* instead = std::getenv("UZUSHIO_STAGING");
        const bool named = instead != nullptr && *instead != '\0';
        const auto chosen = with_home(named ? instead : file.string());
        if (chosen.empty())
            return {};
        const std::string source = chosen.string() + (named ? " (named by UZUSHIO_STAGING)" : "");
        std::ifstream stream(chosen, std::ios::binary);
        std::stringstream text;
        // An empty file is a file of defaults.
        require(
            std::filesystem::is_regular_file(chosen) && stream &&
                (stream.peek() == std::ifstream::traits_type::eof() || (text << stream.rdbuf())),
            "The staging options cannot be read from ", source,
            ": there is no such file, or it may not be read.");
        yaml = text.str();
        return source;
    });
    yaml = group.from_root([&] { return yaml; });
    return where.empty() ? EngineOptions{} : parse_options(yaml, where);
}

} // namespace uzushio::staging
