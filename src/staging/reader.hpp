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

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/step_info.hpp"
#include "staging/queue/delivery.hpp"
#include "staging/reader_options.hpp"

namespace uzushio::staging {

class StepSource;

/// A block (its place in `Reader::step().blocks`), and the memory for its values.
struct BlockTarget {
    std::uint32_t block = 0;
    ArrayView to;
};

/// The reading side of a stream: N ranks that see the same steps, and of each take what they need.
///
/// Attaching, `next`, `release` and `detach` are collective over the reader's ranks, and their
/// faults throw StagingError on all of them; the rest is each rank's own.
///
/// A rank that fails alone leaves the others: by `leave`, or by its end (its destructor, before it
/// has detached or the stream has ended). They do not wait for it: what is collective throws
/// StagingError that says who left and why, and so it does where ranks call different members.
///
/// A reader that a writer of engine `inproc` hands to its work stands at the step that the solver
/// publishes. It has no other: `next` throws, `release` and `detach` do nothing, and it must not be
/// used after the work. Its `read`, `read_block` and `read_blocks` are collective over the solver's
/// ranks (a rank that wants nothing reads an empty box); `view` is not, and shows this rank's
/// blocks alone. Such steps carry no checksums. One thread at a time may use a reader.
///
/// In a process forked from the one that attached, a reader does nothing at `release`, `detach` and
/// its end; what `view` gave before may be looked at, and the rest throws.
class Reader {
  public:
    /// Attach to the stream that `contact` leads to: a contact file, "host:port", "mpi:NAME" inside
    /// one MPI launch with the writer, or the folder of stored steps. Waits for a writer that is
    /// not there yet. MPI_COMM_NULL: this process alone.
    Reader(const std::string& contact, MPI_Comm comm, const ReaderOptions& options = {});
    /// From a source of one's own.
    Reader(std::unique_ptr<StepSource> source, MPI_Comm comm, const ReaderOptions& options = {});
    Reader(Reader&&) noexcept;
    ~Reader(); ///< leaves, unless it has detached or the stream has ended

    /// Go on to the next step, and release the one before. `step`: it is there; `timeout`: none
    /// came in time; `ended`: the writer has closed; `detached`: this reader has left.
    /// A step that contradicts itself ends in an error, and detaches.
    [[nodiscard]] Arrival next(std::chrono::nanoseconds limit);

    /// The step that `next` brought, the same on all ranks. Throws StagingError if there is none.
    [[nodiscard]] const StepInfo& step() const;
    [[nodiscard]] std::uint64_t sequence() const;

    /// Any box of a field, whichever ranks and blocks hold it. `to` has the box's counts, any
    /// strides, and the field's components. Returns the boxes (global indices) that no block holds,
    /// where `to` is left as it was.
    std::vector<Box> read(std::string_view field, const Box& box, const ArrayView& to);
    /// The values of one block (its place in `step().blocks`): those that it owns, or ghost layers
    /// too. `to` as above.
    void read_block(std::string_view field, std::uint32_t block, bool with_ghosts,
                    const ArrayView& to);
    /// The same of many blocks: what has to be fetched is asked for at once, not block by block.
    void read_blocks(std::string_view field, std::span<const BlockTarget> targets,
                     bool with_ghosts);
    /// A block's values with ghost layers where the writer put them, without a copy; nothing if
    /// this engine cannot, or the block lies on another node. Valid until the step is released.
    [[nodiscard]] std::optional<ConstArrayView> view(std::string_view field, std::uint32_t block);
    /// Whether a block's values are those that were published. Throws if they came without
    /// checksum.
    [[nodiscard]] bool verify(std::string_view field, std::uint32_t block);

    /// Done with the step: its memory is the writer's again. Nothing if there is none.
    void release();
    /// Leave; also done with the step. Nothing if it has left already. If other ranks do something
    /// else, it is they who throw.
    void detach();

    /// Leave alone, without waiting for the other ranks, who throw that this one has left because
    /// of `why`. Not collective.
    void leave(const std::exception_ptr& why) noexcept;

    // For who hands on what `view` gave, and cannot tell when it is no more looked at.

    /// From now on `next` and `release` throw `why` on all ranks, as long as a rank has one, and
    /// the step stays. Not collective.
    void keep_step(std::optional<std::string> why);
    /// What is collective in `detach`: the step stays, and what is left of `detach` is each rank's
    /// own.
    void part();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace uzushio::staging
