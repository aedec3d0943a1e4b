// Fuzzing of the decoder: any bytes must be decoded, or refused with DecodeError.
//
// libFuzzer calls the function below (CMake option UZUSHIO_FUZZ, clang); the ordinary tests call it
// with the files of corpus/. The first byte is the message's type, and the rest its body, without
// the header, whose checksum a fuzzer cannot match; then all bytes are tried with a header too.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "staging/datamodel/model_error.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/wire/decode_error.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/select.hpp"

namespace {

using namespace uzushio::staging;

void require(bool holds, const char* message) {
    if (holds)
        return;
    std::fprintf(stderr, "fuzz: %s\n", message);
    std::abort();
}

std::span<const std::byte> body_of(const std::vector<std::byte>& message) {
    return std::span(message).subspan(FrameHeader::size);
}

/// Require that a decoded message encodes to the same bytes. (Not that it is equal: NaNs are not.)
void try_body(std::uint16_t type, std::span<const std::byte> body, const DecodeLimits& limits) {
    const Message message = decode_body(type, body, limits);
    const auto bytes = encode(message);
    const FrameHeader frame = decode_frame_header(std::span(bytes).first<FrameHeader::size>());
    const auto again = encode(decode(frame, body_of(bytes)));
    require(frame.type == type, "a message changes its type");
    require(bytes == again, "a message changes when it is sent on");
    require(body_of(bytes).size() == body.size(), "a message changes its length");

    if (const auto* announce = std::get_if<Announce>(&message)) {
        // A decoded step must be safe to use with a segment that is too small for it.
        const std::vector<std::byte> segment(64);
        for (const Block& block : announce->step.blocks)
            for (const StoredArray& array : block.arrays)
                try {
                    const auto view = view_of(announce->step, block, array, segment);
                    require(view.bytes() <= 64, "a view reaches out of its segment");
                } catch (const ModelError&) {
                }
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span all(reinterpret_cast<const std::byte*>(data), size);
    if (size == 0)
        return 0;
    for (const DecodeLimits& limits : {DecodeLimits{}, DecodeLimits::handshake()})
        try {
            try_body(data[0], all.subspan(1), limits);
        } catch (const DecodeError&) {
        }
    if (size >= FrameHeader::size)
        try {
            (void)decode(decode_frame_header(all.first<FrameHeader::size>()),
                         all.subspan(FrameHeader::size));
        } catch (const DecodeError&) {
        }
    return 0;
}
