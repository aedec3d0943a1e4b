#pragma once

#include <concepts>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>

namespace uzushio::staging {

/// Name in quotation marks, as a part of a sentence.
struct Quoted {
    std::string_view name;
};
[[nodiscard]] inline Quoted quote(std::string_view name) { return {name}; }

/// Return the sentence that consists of these parts: texts, whole numbers, paths, quoted names, and
/// functions that return one of them.
template <class... Parts> [[nodiscard]] std::string sentence(const Parts&... parts) {
    std::string text;
    const auto append = [&text](const auto& part) {
        using Part = std::remove_cvref_t<decltype(part)>;
        if constexpr (std::invocable<const Part&>)
            text += sentence(part());
        else if constexpr (std::integral<Part>)
            text += std::to_string(part);
        else if constexpr (std::same_as<Part, std::filesystem::path>)
            text += part.string();
        else if constexpr (std::same_as<Part, Quoted>)
            text.append("\"").append(part.name).append("\"");
        else
            text += part;
    };
    (append(parts), ...);
    return text;
}

} // namespace uzushio::staging
