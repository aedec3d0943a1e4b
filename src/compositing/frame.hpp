#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compositing/merge.hpp"
#include "compositing/requests.hpp"
#include "compositing/schedule.hpp"
#include "compositing/tags.hpp"
#include "parallel/aligned_array.hpp"

namespace uzushio::compositing {

/// What all frames of one compositor work with, one at a time.
struct Workshop {
    Workshop(const Shape& of, MPI_Comm communicator, int pictures)
        : shape(of), comm(communicator), frames(pictures), tags(communicator, pictures),
          encoder(of.pixels()), runs(of.pixels()), merger(16) {}

    Shape shape;
    MPI_Comm comm;
    int frames; ///< that may be under way
    Tags tags;
    Requests requests;
    Encoder encoder;
    RunList runs;
    Merger merger;
    std::vector<Cursor> cursors;
};

/// One picture under way: follows this rank's schedule as messages come in.
class Frame {
  public:
    Frame(Workshop& workshop, int index) : shop_(workshop), index_(index) {}

    /// Make room for what `schedule` needs; it must outlive its use. Only when no picture is under
    /// way in here.
    void prepare(const Schedule& schedule);
    /// Begin a picture: receive its messages, of this tag, from now on.
    void post(int tag);
    /// This rank's image is there. Its memory is read, by others too, until `done`.
    void start(const Picture& picture);
    /// A message of this frame has come in.
    void received(int stage, int message, std::size_t bytes);
    void sent() { --sending_; }
    /// Who sends a message.
    [[nodiscard]] int sender(int stage, int message) const {
        const auto& of =
            work_[static_cast<std::size_t>(stage)].messages[static_cast<std::size_t>(message)];
        return schedule_->stages[static_cast<std::size_t>(stage)]
            .layers[of.layer][of.contribution]
            .rank;
    }

    /// Whether this rank has nothing left to do for it.
    [[nodiscard]] bool done() const { return stage_ == schedule_->stages.size() && sending_ == 0; }
    [[nodiscard]] bool has_result() const { return schedule_->result; }
    /// Positions of the picture that are here in the end.
    [[nodiscard]] Range region() const { return schedule_->stages.back().region; }
    /// Their pixels: the image in its own order if it is whole, else one position after the other.
    /// They stay until the next `post`.
    [[nodiscard]] std::span<const std::byte> result() const {
        return {result_.data(), static_cast<std::size_t>(region().size()) * shop_.shape.bytes()};
    }
    [[nodiscard]] std::size_t bytes() const { return memory_.bytes() + result_.bytes(); }
    [[nodiscard]] std::size_t messages() const { return messages_; }

  private:
    struct Message { ///< one that will come
        std::size_t layer = 0, contribution = 0;
        std::byte* to = nullptr;
        bool in_place = false;
    };
    struct Work { ///< what goes with a stage
        std::vector<Message> messages;
        std::vector<std::vector<Part>> layers;
        std::vector<Part> results; ///< of pieces that stay
        std::vector<std::byte*> pieces;
        std::vector<RunList> runs;
        int missing = 0;
    };

    [[nodiscard]] bool final(std::size_t stage) const {
        return schedule_->result && stage + 1 == schedule_->stages.size();
    }
    void advance();
    void run_image(const Stage& stage, Work& work);
    void run_merge(const Stage& stage, Work& work, bool last);
    void place(const Stage& stage, Work& work);
    void send(const Piece& piece, const std::byte* data, std::size_t bytes);

    Workshop& shop_;
    int index_;
    const Schedule* schedule_ = nullptr;
    std::vector<Work> work_;
    parallel::AlignedArray<std::byte> memory_;
    parallel::AlignedArray<std::byte> result_;
    std::byte* spare_ = nullptr; ///< room for a message that arrived where its pixels shall be
    Picture picture_;
    std::size_t stage_ = 0;
    int tag_ = 0;
    int sending_ = 0;
    bool started_ = false;
    std::size_t messages_ = 0;
};

} // namespace uzushio::compositing
