#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compositing/frame.hpp"
#include "compositing/method.hpp"
#include "compositing/options.hpp"
#include "compositing/order_check.hpp"
#include "compositing/planner.hpp"
#include "parallel/communicator.hpp"

namespace uzushio::compositing {

/// What a rank has of a finished picture. The memory is the compositor's, until the picture
/// `frames` after it is submitted.
struct Result {
    /// Positions of the picture that are here: all at the root, a tile elsewhere, or none.
    Range region;
    /// Their pixels, one position after the other; a whole image in its own order.
    std::span<const std::byte> pixels;

    template <class Pixel> [[nodiscard]] std::span<const Pixel> as() const {
        return {reinterpret_cast<const Pixel*>(pixels.data()), pixels.size() / sizeof(Pixel)};
    }
};

/// Sort-last compositing: every rank has an image of the whole view with its part of the data in
/// it, and together they are the picture.
///
/// All calls are collective, in the same order on all ranks, except `progress`. No thread is
/// started: messages move while a rank is in one of the calls. Ranks that are not in the visibility
/// order take no part in a picture and pass through its calls at once, unless they are the root.
///
/// The visibility orders must be the same on all ranks. Where they are not, any of the calls throws
/// `std::invalid_argument`, on all ranks, and the compositor is of no more use.
class Compositor {
  public:
    /// Throws `std::invalid_argument`, on all ranks, if `options` make no sense on any of them or
    /// are not the same.
    Compositor(MPI_Comm comm, const Options& options);
    Compositor(const Compositor&) = delete;
    Compositor& operator=(const Compositor&) = delete;
    /// Collective, unless abandoned or an exception is under way: calls `meet`, and waits for
    /// nobody if that fails.
    ~Compositor();

    /// Finish the pictures under way and wait until all ranks have done so (collective); tell
    /// whether any of them gave `keep`. Throws `std::runtime_error` after `Options::limit`.
    bool meet(bool keep = false);
    /// Let the destructor wait for nobody: for an owner who cannot say when it runs, as a language
    /// with a garbage collector. What ranks share then stays until the process ends.
    void abandon();

    /// The ranks that have data, front to back, for the pictures from the next on: the same list on
    /// all ranks, also on those that are not in it. At first all ranks, by number. Pictures under
    /// way are finished by their own order.
    void set_order(std::span<const int> front_to_back);

    /// Begin to composite a picture of which this rank has `image`, `width` × `height` pixels, row
    /// by row. Only the pixels in `bounds` are looked at; the others are background. The memory
    /// must stay as it is until `finish` has returned for this picture. Throws `std::logic_error`
    /// if `frames` pictures are under way.
    template <class Pixel>
    void submit(std::span<const Pixel> image, std::optional<Rectangle> bounds = {}) {
        submit_bytes(std::as_bytes(image), bounds);
    }
    void submit_bytes(std::span<const std::byte> image, std::optional<Rectangle> bounds = {});

    /// Memory to draw the image of the next picture into, `width` × `height` pixels, until
    /// `submit_canvas`: what is drawn here need not be copied. Its content is undefined at first.
    /// Other ranks of the node may read it even after `finish`, so it may be written between this
    /// call and `submit_canvas` only; this call waits until they have read the image before.
    /// Throws `std::logic_error` if `frames` pictures are under way.
    [[nodiscard]] std::span<std::byte> canvas();
    template <class Pixel> [[nodiscard]] std::span<Pixel> canvas_of() {
        const auto bytes = canvas();
        return {reinterpret_cast<Pixel*>(bytes.data()), bytes.size() / sizeof(Pixel)};
    }
    /// Like `submit` with the canvas.
    void submit_canvas(std::optional<Rectangle> bounds = {});

    /// Wait until the oldest picture under way is finished, as far as this rank is concerned.
    /// Throws `std::logic_error` if there is none, and `std::runtime_error`, which names the ranks
    /// that it waited for, after `Options::limit`; of no more use then.
    Result finish();

    /// Move on what can be moved on without waiting: for callers that are busy for long.
    void progress();

    [[nodiscard]] const Options& options() const { return options_; }
    /// The algorithm of the next picture: what `auto` has chosen for its order, or what was asked
    /// for.
    [[nodiscard]] const Method& algorithm() const { return chosen_; }
    /// What the ranks of this job can do; measured at the first call (collective), or when `auto`
    /// needed it.
    const Machine& machine();
    /// Seconds that an algorithm will take for the next picture if every pixel is active
    /// (collective at the first call). A hybrid can be predicted by a compositor that is one, or
    /// `auto`.
    [[nodiscard]] double predict(const Method& method);
    /// The order of the pixels in tiles.
    [[nodiscard]] const Interlace& interlace() const { return shop_.shape.order; }
    /// Whether a call has thrown because of other ranks: the compositor is of no more use.
    [[nodiscard]] bool failed() const { return gave_up_; }
    [[nodiscard]] int under_way() const { return static_cast<int>(queue_.size()); }
    /// Memory that this rank's frames hold.
    [[nodiscard]] std::size_t bytes() const;
    /// Messages that this rank sent for the picture that was finished last.
    [[nodiscard]] std::size_t messages() const { return messages_; }

  private:
    struct Slot {
        std::unique_ptr<Frame> frame;
        std::shared_ptr<const Plan> plan;
        parallel::AlignedArray<std::byte> canvas;
        std::uint64_t number = 0; ///< of its last picture
        bool on_node = false;     ///< under way within the node
        bool here = false;        ///< and the picture is here now
    };

    [[nodiscard]] int next_slot() const;
    [[nodiscard]] bool done(const Slot& slot) const;
    bool move_messages(bool wait);
    void move_nodes();
    void wait_for(int slot);
    void wait_until_free(int slot);
    template <class Done, class Ranks, class Step>
    void wait_until(std::uint64_t number, Done&& done, Ranks&& ranks, Step&& step);
    std::span<const int> waiting_for(int slot);
    template <class Work> void check(Work&& work);

    Options options_;
    std::unique_ptr<parallel::Communicator> comm_;
    Workshop shop_;
    Method method_;
    std::optional<Machine> machine_;
    std::unique_ptr<NodeStage> node_; ///< if the algorithm is a hybrid, or may be
    std::unique_ptr<Planner> planner_;
    Method chosen_;
    OrderCheck check_;
    std::vector<int> order_;
    std::uint64_t order_hash_ = 0;
    bool in_order_ = true;
    std::shared_ptr<const Plan> plan_;
    std::vector<Slot> slots_;
    std::vector<int> waiting_; ///< ranks that a call waits for
    std::vector<int> queue_;   ///< slots under way, the oldest first
    std::uint64_t number_ = 0; ///< of the next picture
    bool gave_up_ = false;
    bool met_ = false;
    bool abandoned_ = false;
    int exceptions_ = std::uncaught_exceptions(); ///< under way when the compositor was made
    std::size_t messages_ = 0;
};

} // namespace uzushio::compositing
