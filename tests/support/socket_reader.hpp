#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "staging/datamodel/read_planner.hpp"
#include "staging/stream_group.hpp"
#include "staging/transport/socket/source.hpp"
#include "staging/wire/select.hpp"
#include "support/socket_writer.hpp"

namespace uzushio::staging::testing {

/// Reader of a HandMadeWriter's steps that works like staging's Reader, and checks every value.
class CheckingReader {
  public:
    explicit CheckingReader(const std::string& contact, const ReaderOptions& options = {},
                            const std::string& node = "")
        : source_(contact, stream_group(), options, node), limit_(options.answer_limit) {}

    StepStatus next(std::chrono::nanoseconds limit) {
        const AnnouncedStep announced = source_.next(limit);
        if (announced.status == StepStatus::step) {
            const auto frame =
                decode_frame_header(std::span(*announced.message).first<FrameHeader::size>());
            step_ = std::get<Announce>(
                decode(frame, std::span(*announced.message).subspan(FrameHeader::size)));
        }
        return announced.status;
    }

    [[nodiscard]] std::vector<std::byte> read(const Box& box) {
        const auto components = static_cast<std::int64_t>(step_.step.fields[0].components);
        std::vector<std::byte> values(static_cast<std::size_t>(box.volume() * components * 4));
        const ArrayView to = packed_view(values.data(), box.extents(), components, 4);
        const ReadPlan plan = ReadPlanner(step_.step, 0).plan(box);
        EXPECT_TRUE(plan.missing.empty());
        std::vector<Fetch> wanted;
        for (const Piece& piece : plan.pieces)
            wanted.push_back({piece.rank, request_of(step_.step, piece, step_.sequence, 0),
                              to.sub(piece.target)});
        source_.fetch(step_, wanted, limit_);
        return values;
    }

    /// Return whether the values in the box are those that were published.
    [[nodiscard]] ::testing::AssertionResult holds(const Box& box) {
        const auto values = read(box);
        const std::int64_t components = step_.step.fields[0].components;
        std::size_t at = 0;
        for (std::int64_t z = box.lower[0]; z < box.upper[0]; ++z)
            for (std::int64_t y = box.lower[1]; y < box.upper[1]; ++y)
                for (std::int64_t x = box.lower[2]; x < box.upper[2]; ++x)
                    for (std::int64_t c = 0; c < components; ++c, at += 4) {
                        float value = 0;
                        std::memcpy(&value, values.data() + at, 4);
                        if (value != value_at(step_.sequence,
                                              step_.step.topologies[0].elements.extents(), z, y, x,
                                              c, components))
                            return ::testing::AssertionFailure()
                                   << "wrong value in " << to_string(box) << " at " << z << ", "
                                   << y << ", " << x << ", component " << c;
                    }
        return ::testing::AssertionSuccess();
    }
    [[nodiscard]] ::testing::AssertionResult holds() { return holds(everything()); }

    [[nodiscard]] Box everything() const { return step_.step.topologies[0].elements; }
    void release() { source_.release(step_.sequence); }
    [[nodiscard]] const Announce& step() const { return step_; }
    [[nodiscard]] socket::SocketSource& source() { return source_; }

  private:
    socket::SocketSource source_;
    std::chrono::nanoseconds limit_;
    Announce step_;
};

inline Box random_box(std::mt19937& random, const Extent& n) {
    Box box;
    for (std::size_t a = 0; a < 3; ++a) {
        box.lower[a] = std::uniform_int_distribution<std::int64_t>(0, n[a] - 1)(random);
        box.upper[a] = std::uniform_int_distribution<std::int64_t>(box.lower[a] + 1, n[a])(random);
    }
    return box;
}

/// Return the text of the thrown error, or "nothing".
template <class Fault, class Work> std::string text_of(Work&& work) {
    try {
        work();
    } catch (const Fault& fault) {
        return fault.what();
    } catch (const std::exception& other) {
        return std::string("another kind: ") + other.what();
    }
    return "nothing";
}

} // namespace uzushio::staging::testing
