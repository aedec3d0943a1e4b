#pragma once

#include <string>
#include <string_view>

namespace uzushio::staging {

/// Throw StagingError unless a name or text that a writer describes can be sent: UTF-8, and within
/// the limit of all readers. `subject` begins the sentence, as "The name of a field".
void require_text(std::string_view subject, std::string_view text);

/// Return a text with the bytes that are not UTF-8 replaced, for messages.
[[nodiscard]] std::string printable(std::string_view text);

} // namespace uzushio::staging
