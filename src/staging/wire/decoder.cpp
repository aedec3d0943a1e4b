#include "staging/wire/decoder.hpp"

#include "staging/wire/decode_error.hpp"

namespace uzushio::staging {

void Decoder::text(std::string& value, const char* what) {
    std::uint32_t size = 0;
    number(size);
    if (size > limits_.text_bytes)
        throw DecodeError("A " + std::string(what) + " of " + std::to_string(size) +
                          " bytes is longer than the " + std::to_string(limits_.text_bytes) +
                          " allowed.");
    need(size);
    charge(size);
    value.resize(size);
    for (std::size_t i = 0; i < size; ++i)
        value[i] = static_cast<char>(bytes_[at_ + i]);
    at_ += size;
}

void Decoder::finish() const {
    if (at_ != bytes_.size())
        throw DecodeError("The message has " + std::to_string(bytes_.size() - at_) +
                          " bytes after its last value.");
}

void Decoder::need(std::size_t bytes) const {
    if (bytes > bytes_.size() - at_)
        throw DecodeError("The message ends after " + std::to_string(bytes_.size()) +
                          " bytes, in the middle of a value.");
}

std::size_t Decoder::count(std::size_t min_bytes, std::size_t item_bytes, const char* what) {
    std::uint32_t size = 0;
    number(size);
    const std::string list = "A list of " + std::to_string(size) + " " + what;
    if (size > limits_.list_items)
        throw DecodeError(list + " is longer than the " + std::to_string(limits_.list_items) +
                          " items allowed.");
    if (size > (bytes_.size() - at_) / min_bytes)
        throw DecodeError(list + " cannot be in the " + std::to_string(bytes_.size() - at_) +
                          " remaining bytes.");
    charge(size * item_bytes);
    return size;
}

void Decoder::charge(std::size_t bytes) {
    if (bytes > limits_.memory_bytes - memory_)
        throw DecodeError("The message would take more than the " +
                          std::to_string(limits_.memory_bytes) + " bytes of memory allowed.");
    memory_ += bytes;
}

void Decoder::unknown(const char* what, long long code) {
    throw DecodeError("There is no " + std::string(what) + " of the number " +
                      std::to_string(code) + ".");
}

} // namespace uzushio::staging
