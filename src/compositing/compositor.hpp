#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compositing/algorithm_spec.hpp"
#include "compositing/compositing_planner.hpp"
#include "compositing/compositor_options.hpp"
#include "compositing/order_check.hpp"
#include "compositing/picture_in_flight.hpp"
#include "parallel/communicator.hpp"

namespace uzushio::compositing {

/// Pixels of a finished picture on this rank. The memory is the compositor's, valid until the
/// picture `frames` after it is submitted.
struct CompositedPixels {
    /// Positions of the picture: all at the root, a tile elsewhere, or none.
    Range region;
    /// Contiguous positions; a whole image in its own order.
    std::span<const std::byte> pixels;

    template <class Pixel> [[nodiscard]] std::span<const Pixel> as() const {
        return {reinterpret_cast<const Pixel*>(pixels.data()), pixels.size() / sizeof(Pixel)};
    }
};

/// Sort-last compositing: every rank has an image of the whole view with its part of the data; the
/// composited images are the picture.
///
/// All calls are collective, in the same order on all ranks, except `progress`. No thread is
/// started: messages move while a rank is in one of the calls. Ranks that are not in the visibility
/// order send nothing and return from the calls at once, unless they are the root.
///
/// The visibility orders must be the same on all ranks. Where they differ, any of the calls throws
/// `std::invalid_argument`, on all ranks. The compositor has then failed: all calls but the
/// destructor and `abandon` throw.
class Compositor {
  public:
    /// Throw `std::invalid_argument`, on all ranks, if `options` are not valid on any of them or
    /// differ.
    Compositor(MPI_Comm comm, const CompositorOptions& options);
    Compositor(const Compositor&) = delete;
    Compositor& operator=(const Compositor&) = delete;
    /// Call `finish_all` (collective), unless the compositor is abandoned or has failed, or an
    /// exception is propagating.
    ~Compositor();

    /// Finish the pictures in flight and wait until all ranks have done so (collective). Return
    /// whether any rank gave `keep`. Throw `std::runtime_error` after `CompositorOptions::limit`.
    bool finish_all(bool keep = false);
    /// Let the destructor wait for no rank: for owners that destroy objects at an unknown time,
    /// such as a language with a garbage collector. Shared memory then stays until the process
    /// ends.
    void abandon();

    /// Set the ranks that have data, front to back, from the next picture on: the same list on all
    /// ranks, including those that are not in it. The default is all ranks by number. Pictures in
    /// flight keep their order.
    void set_order(std::span<const int> front_to_back);

    /// Begin to composite a picture from this rank's `image`, `width` × `height` pixels, row by
    /// row. Only the pixels in `bounds` are read; the others are background. The memory must not
    /// change until `finish` has returned this picture. Throw `std::logic_error` if `frames`
    /// pictures are in flight.
    template <class Pixel>
    void submit(std::span<const Pixel> image, std::optional<Rectangle> bounds = {}) {
        submit_bytes(std::as_bytes(image), bounds);
    }
    void submit_bytes(std::span<const std::byte> image, std::optional<Rectangle> bounds = {});

    /// Return memory for the image of the next picture, `width` × `height` pixels of undefined
    /// content, which `submit_canvas` does not copy. It may be written only between this call and
    /// `submit_canvas`: other ranks of the node may read it even after `finish`. This call waits
    /// until they have read the previous image. Throw `std::logic_error` if `frames` pictures are
    /// in flight.
    [[nodiscard]] std::span<std::byte> canvas();
    template <class Pixel> [[nodiscard]] std::span<Pixel> canvas_of() {
        const auto bytes = canvas();
        return {reinterpret_cast<Pixel*>(bytes.data()), bytes.size() / sizeof(Pixel)};
    }
    /// Submit the canvas.
    void submit_canvas(std::optional<Rectangle> bounds = {});

    /// Wait until this rank's part of the oldest picture in flight is finished. Throw
    /// `std::logic_error` if there is none. Throw `std::runtime_error`, which names the ranks that
    /// this rank waited for, after `CompositorOptions::limit`; the compositor has then failed.
    CompositedPixels finish();

    /// Advance the pictures in flight without waiting: for callers that are busy for long.
    void progress();

    [[nodiscard]] const CompositorOptions& options() const { return options_; }
    /// Return the algorithm of the next picture: the requested one, or the choice of `auto` for its
    /// visibility order.
    [[nodiscard]] const AlgorithmSpec& algorithm() const { return chosen_; }
    /// Return the rates of this job, measured at the first call (collective), or when `auto` needed
    /// them.
    const MachineRates& machine();
    /// Return the predicted seconds of an algorithm for the next picture if every pixel is active
    /// (collective at the first call). A hybrid can be predicted by a hybrid or `auto` compositor
    /// only.
    [[nodiscard]] double predict(const AlgorithmSpec& spec);
    /// Return the order of the pixels in tiles.
    [[nodiscard]] const PixelInterlacing& interlacing() const { return context_.shape.interlacing; }
    /// Return whether a call has thrown because of other ranks.
    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] int in_flight() const { return static_cast<int>(queue_.size()); }
    /// Return the bytes of this rank's buffers.
    [[nodiscard]] std::size_t bytes() const;
    /// Return the number of messages that this rank sent for the last finished picture.
    [[nodiscard]] std::size_t messages() const { return messages_; }

  private:
    struct ImageSlot {
        std::unique_ptr<PictureInFlight> picture;
        std::shared_ptr<const CompositingPlan> plan;
        parallel::AlignedArray<std::byte> canvas;
        std::uint64_t number = 0; ///< of its last picture
        bool on_node = false;     ///< in flight within the node
        bool complete = false;    ///< finished by the node: the picture is at this rank
    };

    [[nodiscard]] int next_slot() const;
    [[nodiscard]] bool done(const ImageSlot& slot) const;
    bool move_messages(bool wait);
    void move_nodes();
    void wait_for(int slot);
    void wait_until_free(int slot);
    template <class Done, class Ranks, class Step>
    void wait_until(std::uint64_t number, Done&& done, Ranks&& ranks, Step&& step);
    std::span<const int> waiting_for(int slot);
    std::array<std::uint64_t, 3> reduce_max(std::array<std::uint64_t, 3> own);
    template <class Work> void fail_on_conflict(Work&& work);

    CompositorOptions options_;
    std::unique_ptr<parallel::Communicator> comm_;
    CompositingContext context_;
    AlgorithmSpec requested_;
    std::optional<MachineRates> machine_;
    std::unique_ptr<NodeCompositor> node_; ///< if the algorithm is, or may be, a hybrid
    std::unique_ptr<CompositingPlanner> planner_;
    AlgorithmSpec chosen_;
    OrderCheck check_;
    std::vector<int> order_;
    std::uint64_t order_hash_ = 0;
    bool in_order_ = true;
    std::shared_ptr<const CompositingPlan> plan_;
    std::vector<ImageSlot> slots_;
    std::vector<int> waiting_; ///< ranks that a call waits for
    std::vector<int> queue_;   ///< slots in flight, the oldest first
    std::uint64_t number_ = 0; ///< of the next picture
    bool failed_ = false;
    bool finished_all_ = false;
    bool abandoned_ = false;
    int exceptions_ = std::uncaught_exceptions(); ///< propagating at construction
    std::size_t messages_ = 0;
};

} // namespace uzushio::compositing
