#include "staging/wire/decoder.hpp"

#include "staging/require.hpp"
#include "staging/wire/decode_error.hpp"

namespace uzushio::staging {
namespace {

constexpr Require<DecodeError> require_valid;

} // namespace

void Decoder::text(std::string& value, const char* what) {
    std::uint32_t size = 0;
    number(size);
    require_valid(size <= limits_.text_bytes, "A ", what, " of ", size,
                  " bytes is longer than the ", limits_.text_bytes, " allowed.");
    need(size);
    charge(size);
    value.resize(size);
    for (std::size_t i = 0; i < size; ++i)
        value[i] = static_cast<char>(bytes_[at_ + i]);
    at_ += size;
}

void Decoder::finish() const {
    require_valid(at_ == bytes_.size(), "The message has ", bytes_.size() - at_,
                  " bytes after its last value.");
}

void Decoder::need(std::size_t bytes) const {
    if (bytes > bytes_.size() - at_) // for each number: a check with arguments would be slower
        throw DecodeError(sentence("The message ends after ", bytes_.size(),
                                   " bytes, in the middle of a value."));
}

std::size_t Decoder::count(std::size_t min_bytes, std::size_t item_bytes, const char* what) {
    std::uint32_t size = 0;
    number(size);
    const std::string list = "A list of " + std::to_string(size) + " " + what;
    require_valid(size <= limits_.list_items, list, " is longer than the ", limits_.list_items,
                  " items allowed.");
    require_valid(size <= (bytes_.size() - at_) / min_bytes, list, " cannot be in the ",
                  bytes_.size() - at_, " remaining bytes.");
    charge(size * item_bytes);
    return size;
}

void Decoder::charge(std::size_t bytes) {
    require_valid(bytes <= limits_.memory_bytes - memory_, "The message would take more than the ",
                  limits_.memory_bytes, " bytes of memory allowed.");
    memory_ += bytes;
}

void Decoder::unknown(const char* what, long long code) {
    throw DecodeError(sentence("There is no ", what, " of the number ", code, "."));
}

} // namespace uzushio::staging
