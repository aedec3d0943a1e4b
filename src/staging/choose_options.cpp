#include "staging/choose_options.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "staging/home_path.hpp"
#include "staging/require.hpp"
#include "staging/stream_group.hpp"

namespace uzushio::staging {
namespace {

/// Return the content of a file, which may be empty.
std::string content_of(const std::filesystem::path& file, const std::string& name) {
    std::ifstream stream(file, std::ios::binary);
    std::stringstream text;
    require(std::filesystem::is_regular_file(file) && stream &&
                (stream.peek() == std::ifstream::traits_type::eof() || (text << stream.rdbuf())),
            "The staging options cannot be read from ", name,
            ": there is no such file, or it may not be read.");
    return text.str();
}

} // namespace

EngineOptions read_options(const std::filesystem::path& given) {
    const auto file = with_home(given.string());
    return parse_options(content_of(file, file.string()), file.string());
}

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
        yaml = content_of(chosen, source);
        return source;
    });
    yaml = group.from_root([&] { return yaml; });
    EngineOptions options = where.empty() ? EngineOptions{} : parse_options(yaml, where);
    options.on_error = options.on_error.value_or(OnError::warn);
    return options;
}

} // namespace uzushio::staging
