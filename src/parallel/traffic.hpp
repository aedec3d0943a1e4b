#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace uzushio::parallel {

/// Kinds of communication that are counted separately.
enum class Exchange {
    transpose_xy,
    transpose_z,
    column_shift, ///< results of a chunk of columns to the next rank in z
    interfaces,   ///< of the parts of ranks in partitioned solves
    halo,
    reduction,
    redistribution,
    count
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Exchange::count)>
    exchange_names = {"transpose xy", "transpose z", "pipeline z",    "interfaces z",
                      "halo",         "reduction",   "redistribution"};

/// Counters of the messages that this rank sent to other ranks.
struct Sent {
    std::int64_t exchanges = 0; ///< calls: all-to-alls, halo exchanges, reductions, chunks
    std::int64_t messages = 0;  ///< messages to other ranks
    std::int64_t bytes = 0;     ///< bytes in them, or moved in shared memory without messages
};

/// Counters of one rank's communication by kind.
class Traffic {
  public:
    Sent& operator[](Exchange kind) { return sent_[static_cast<std::size_t>(kind)]; }
    const Sent& operator[](Exchange kind) const { return sent_[static_cast<std::size_t>(kind)]; }
    void add(Exchange kind, std::int64_t messages, std::int64_t bytes) {
        auto& sent = (*this)[kind];
        sent.exchanges += 1;
        sent.messages += messages;
        sent.bytes += bytes;
    }
    Traffic& operator+=(const Traffic& other) {
        for (std::size_t kind = 0; kind < sent_.size(); ++kind) {
            sent_[kind].exchanges += other.sent_[kind].exchanges;
            sent_[kind].messages += other.sent_[kind].messages;
            sent_[kind].bytes += other.sent_[kind].bytes;
        }
        return *this;
    }
    void reset() { sent_ = {}; }

  private:
    std::array<Sent, static_cast<std::size_t>(Exchange::count)> sent_{};
};

} // namespace uzushio::parallel
