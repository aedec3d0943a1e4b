#pragma once

#include <span>
#include <vector>

#include "compositing/compositing_schedule.hpp"
#include "compositing/layer_merger.hpp"
#include "compositing/message_tags.hpp"
#include "compositing/pending_messages.hpp"
#include "parallel/aligned_array.hpp"

namespace uzushio::compositing {

/// Communicator, messages and scratch memory shared by all pictures of a compositor.
struct CompositingContext {
    CompositingContext(const ImageShape& of, MPI_Comm communicator, int max_in_flight)
        : shape(of), comm(communicator), frames(max_in_flight), tags(communicator, max_in_flight),
          encoder(of.pixels()), runs(of.pixels()), merger(16) {}

    ImageShape shape;
    MPI_Comm comm;
    int frames; ///< maximum number of pictures in flight
    MessageTags tags;
    PendingMessages messages;
    FragmentEncoder encoder;
    RunList runs;
    LayerMerger merger;
    std::vector<LayerCursor> cursors;
};

/// A picture in flight: executes this rank's schedule as messages arrive. Its memory is reused by
/// the pictures that follow.
class PictureInFlight {
  public:
    PictureInFlight(CompositingContext& context, int index) : context_(context), index_(index) {}

    /// Allocate the memory for a schedule, which must outlive its use. No picture may be in flight
    /// here.
    void prepare(const CompositingSchedule& schedule);
    /// Begin a picture: post the receives of its messages, which have this tag.
    void post(int tag);
    /// Process this rank's image. Its memory is read, by other ranks too, until `done`.
    void start(const ImageView& image);
    /// Process a message that has arrived.
    void received(int stage, int message, std::size_t bytes);
    void sent() { --sending_; }
    /// Return the sender of a message.
    [[nodiscard]] int sender(int stage, int message) const {
        const auto& of =
            work_[static_cast<std::size_t>(stage)].messages[static_cast<std::size_t>(message)];
        return schedule_->stages[static_cast<std::size_t>(stage)]
            .layers[of.layer][of.contribution]
            .rank;
    }

    /// Return whether this rank has completed its schedule.
    [[nodiscard]] bool done() const { return stage_ == schedule_->stages.size() && sending_ == 0; }
    [[nodiscard]] bool has_result() const { return schedule_->result; }
    /// Return the positions of the picture that this rank gets.
    [[nodiscard]] Range region() const { return schedule_->stages.back().region; }
    /// Return their pixels: the image in its own order if it is whole, else contiguous positions.
    /// Valid until the next `post`.
    [[nodiscard]] std::span<const std::byte> result() const {
        return {result_.data(), static_cast<std::size_t>(region().size()) * context_.shape.bytes()};
    }
    [[nodiscard]] std::size_t bytes() const { return memory_.bytes() + result_.bytes(); }
    [[nodiscard]] std::size_t messages() const { return messages_; }

  private:
    struct ExpectedMessage {
        std::size_t layer = 0, contribution = 0;
        std::byte* to = nullptr;
        bool in_place = false; ///< received into the result
    };
    struct StageBuffers {
        std::vector<ExpectedMessage> messages;
        std::vector<std::vector<Fragment>> layers;
        std::vector<Fragment> results; ///< of outputs that stay on this rank
        std::vector<std::byte*> outputs;
        std::vector<RunList> runs;
        int missing = 0;
    };

    [[nodiscard]] bool final(std::size_t stage) const {
        return schedule_->result && stage + 1 == schedule_->stages.size();
    }
    class Offsets;
    void prepare_messages(std::size_t s, Offsets& offsets, std::size_t& spare);
    void prepare_outputs(std::size_t s, Offsets& offsets);
    void advance();
    void process_image(const CompositingStage& stage, StageBuffers& work);
    void process_merge(const CompositingStage& stage, StageBuffers& work, bool last);
    void send(const StageOutput& output, const std::byte* data, std::size_t bytes);

    CompositingContext& context_;
    int index_;
    const CompositingSchedule* schedule_ = nullptr;
    std::vector<StageBuffers> work_;
    parallel::AlignedArray<std::byte> memory_;
    parallel::AlignedArray<std::byte> result_;
    std::byte* spare_ = nullptr; ///< for a packed message that was received into the result
    ImageView image_;
    std::size_t stage_ = 0;
    int tag_ = 0;
    int sending_ = 0;
    bool started_ = false;
    std::size_t messages_ = 0;
};

} // namespace uzushio::compositing
