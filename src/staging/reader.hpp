#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "staging/command.hpp"
#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/queue/delivery.hpp"
#include "staging/reader_options.hpp"

namespace uzushio::staging {

class StepSource;
struct StoredStep;

/// Block (index into `Reader::step().blocks`) and the memory for its values.
struct BlockTarget {
    std::uint32_t block = 0;
    ArrayView to;
};

/// Reading side of a stream: N ranks that get the same steps, and read any part of each.
///
/// Construction, `next`, `release` and `detach` are collective over the reader's ranks; an error of
/// one rank throws StagingError on all. The other members are not collective.
///
/// A rank that fails alone aborts the reader: by `abort`, or by its destructor before it has
/// detached or the stream has ended. The other ranks do not wait for it: their collective members
/// throw StagingError with the rank and the reason, by default the error of a read of the current
/// step. They also throw if ranks call different members. A rank that catches the error of a read
/// may go on.
///
/// A reader that a writer of engine `inproc` passes to its `on_step` function has only the step
/// that the solver publishes: `next` throws, `release` and `detach` do nothing, and it must not be
/// used after the function. Its `read`, `read_block` and `read_blocks` are collective over the
/// solver's ranks (read an empty box for no values); `view` is not, and is limited to this rank's
/// blocks. Such steps have no checksums. One thread at a time may use a reader.
///
/// In a forked process, `release`, `detach` and the destructor do nothing, earlier views remain
/// valid, and other members throw.
class Reader {
  public:
    /// Attach to the stream of `contact`: a contact file, "host:port", "mpi:NAME" inside
    /// one MPI launch with the writer, or the folder of stored steps. Waits for the writer up to
    /// `attach_limit`. MPI_COMM_NULL: this process alone.
    Reader(const std::string& contact, MPI_Comm comm, const ReaderOptions& options = {});
    /// Read from a custom source.
    Reader(std::unique_ptr<StepSource> source, MPI_Comm comm, const ReaderOptions& options = {});
    Reader(Reader&&) noexcept;
    ~Reader(); ///< aborts, unless it has detached or the stream has ended

    /// Release the current step, and wait up to `limit` for the next. An inconsistent step throws
    /// and detaches.
    [[nodiscard]] StepStatus next(std::chrono::nanoseconds limit);

    /// Let `next` continue with the first stored step whose number is `sequence` or larger, also
    /// after the end. Not collective: call it on all ranks. Throws StagingError if the steps are
    /// not stored.
    void seek(std::uint64_t sequence);

    /// Return the stored steps in order; nothing for a running stream. Only on rank 0, not
    /// collective.
    [[nodiscard]] std::optional<std::vector<StoredStep>> stored_steps();

    /// Return the current step, the same on all ranks. Throws StagingError if there is none.
    [[nodiscard]] const StepInfo& step() const;
    [[nodiscard]] std::uint64_t sequence() const;

    /// Read any box of a field. `to` has the box's counts, any strides, and the field's components.
    /// Returns the boxes (global indices) that no block holds; there `to` is unchanged.
    ///
    /// A read that throws may have begun transfers that MPI completes later (engine `mpi`): the
    /// memory of `to` must then stay allocated until the process ends. Same for read_block and
    /// read_blocks.
    std::vector<Box> read(std::string_view field, const Box& box, const ArrayView& to);
    /// Read the owned values of a block (index into `step().blocks`), or also its ghost layers.
    /// `to` as above.
    void read_block(std::string_view field, std::uint32_t block, bool with_ghosts,
                    const ArrayView& to);
    /// Read many blocks: all requests are sent before the first wait.
    void read_blocks(std::string_view field, std::span<const BlockTarget> targets,
                     bool with_ghosts);
    /// Return a view of a block's values with ghost layers in the writer's memory; empty if the
    /// engine has none, or the block is on another node. Valid until the step is released.
    [[nodiscard]] std::optional<ConstArrayView> view(std::string_view field, std::uint32_t block);
    /// Return whether a block's values match their checksum. Throws if they have none.
    [[nodiscard]] bool verify(std::string_view field, std::uint32_t block);

    /// Send a text of at most Command::max_text bytes to the program that writes the stream; it may
    /// change parameters, for example. Returns the number of the command. Only on rank 0, not
    /// collective. Throws StagingError if the engine has no commands (only shm, tcp and mpi have),
    /// or if there is no writer.
    std::uint64_t send(std::string text);
    /// Return the replies that were received in `next` since the last call. Only on rank 0, not
    /// collective.
    [[nodiscard]] std::vector<Reply> take_replies();

    /// Release the current step; its memory returns to the writer. Does nothing without a step.
    void release();
    /// Detach, and release the step. Does nothing if detached already. If other ranks call another
    /// member, they throw.
    void detach();

    /// Detach this rank without the others, which throw `why`. Not collective.
    void abort(const std::exception_ptr& why) noexcept;

    // For owners of views whose lifetime the caller does not control.

    /// While `why` is set on any rank, `next` and `release` throw it on all ranks and keep the
    /// step. Not collective.
    void keep_step(std::optional<std::string> why);
    /// Collective part of `detach`: the step is kept, and a later `detach` is not collective.
    void agree_to_detach();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace uzushio::staging
