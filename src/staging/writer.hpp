#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "staging/command.hpp"
#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/block.hpp"
#include "staging/datamodel/field.hpp"
#include "staging/datamodel/ghosts.hpp"
#include "staging/datamodel/scalar_type.hpp"
#include "staging/engine_options.hpp"
#include "staging/queue/queue_counters.hpp"

namespace uzushio::staging {

class Reader;
class WriterEngine;

/// Writing side of a stream: a solver's ranks describe meshes, fields and blocks once, then put
/// values for each step. A description is valid until it is replaced.
///
/// Construction, `end_step` (or `cancel_step`) and `close` are collective; an error of one rank
/// throws StagingError on all. The other members are not collective, and throw StagingError on
/// misuse. One thread at a time may use a writer.
///
/// With `on_error: warn`, the default of choose_options, no failure of the stream is thrown: rank 0
/// prints one notice. If the stream cannot be opened, or an engine fails to publish, the program
/// continues without it, and `end_step` returns no number. A step on which the ranks do not agree
/// is not published. QueueTimeout, which `on_timeout: fail` asks for, and interrupts are thrown.
///
/// A rank that fails alone calls `cancel_step`, `abandon` or its destructor before `close`: the
/// other ranks do not wait for it, but throw its reason.
///
/// In a forked process, `close`, `abandon` and the destructor do nothing, and no step is published.
class Writer {
  public:
    /// Open the stream `name`. MPI_COMM_NULL: this process alone.
    Writer(std::string name, MPI_Comm comm, const EngineOptions& options);
    /// Write to a custom engine.
    Writer(std::string name, MPI_Comm comm, std::unique_ptr<WriterEngine> engine,
           OnError on_error = OnError::fail);
    Writer(Writer&&) noexcept;
    ~Writer(); ///< without `close`: as `abandon`

    /// Set an attribute of this and later steps.
    void attribute(std::string name, std::variant<std::int64_t, double, std::string> value);

    /// Describe a mesh of `elements` (global indices), with a coordset of the same name.
    /// `dimension` is the number of axes in use, from x.
    void uniform_mesh(std::string name, const Box& elements, std::array<double, 3> origin,
                      std::array<double, 3> spacing, std::uint8_t dimension = 3);
    /// `coordinates`: of all vertices of the whole mesh along z, y, x, the same on every rank; may
    /// be empty along unused axes.
    void rectilinear_mesh(std::string name, const Box& elements,
                          std::array<std::vector<double>, 3> coordinates,
                          std::uint8_t dimension = 3);
    /// The vertices' coordinates are the vertex field `field` of `type` with components x, y, z. It
    /// is described by this call, and is put as any other field.
    void curvilinear_mesh(std::string name, const Box& elements, std::string field,
                          ScalarType type = ScalarType::float64, std::uint8_t dimension = 3);

    void field(std::string name, std::string_view mesh, Association association, ScalarType type,
               std::uint32_t components = 1, std::vector<Attribute> attributes = {});

    /// Describe a block of this rank: `owned` are its elements or its vertices, by `association`
    /// (see Block).
    void block(std::uint64_t id, std::string_view mesh, const Box& owned,
               Association association = Association::element);
    /// Remove a block of this rank.
    void remove_block(std::uint64_t id);

    /// Begin a step, with the same index and time on all ranks. Not collective: it does not
    /// communicate.
    void begin_step(std::int64_t index, double time);
    /// Put values of a field on a block, with any strides; counts are those of the block's box with
    /// its ghost layers. The values are read in `end_step` and must not change before.
    void put(std::string_view field, std::uint64_t block, const ConstArrayView& values,
             const Ghosts& ghosts = {});
    /// Put values without gaps, with adjacent components.
    void put(std::string_view field, std::uint64_t block, const void* values,
             const Ghosts& ghosts = {});
    /// Return memory for a block's values of this step, as an alternative to `put`: without gaps,
    /// with adjacent components. Engines publish it without a copy where they can. Valid until
    /// `end_step`.
    [[nodiscard]] ArrayView buffer(std::string_view field, std::uint64_t block,
                                   const Ghosts& ghosts = {});
    /// Publish the step, without blocks that have no values. Returns its sequence number; empty if
    /// the queue's policy dropped it. An error also ends the step, and the next one may begin.
    std::optional<std::uint64_t> end_step();

    /// Cancel the step for `reason`, on ranks that cannot finish it (collective with the others'
    /// `end_step`, which throws the reason). No step is published, and the next one may begin.
    /// Throws StagingError if no step is open on this rank.
    void cancel_step(std::string_view reason);

    /// With `on_error: warn`: let the next `end_step` report the error `text` of this rank, publish
    /// nothing, and return true. For callers that continue after a failed call. Not collective.
    bool defer_error(const std::string& text);

    /// Wait up to `close_limit` for readers to get the remaining steps, then end the stream. Does
    /// nothing if it is closed already.
    void close();

    /// End the stream at once after a failure of the solver; readers get PeerGone. Not collective:
    /// other ranks throw `reason` at their next step. Memory of `buffer` stays valid until the
    /// destructor.
    void abandon(std::string_view reason = {});

    [[nodiscard]] QueueCounters counters() const;
    [[nodiscard]] const std::string& name() const;

    /// Return the commands that readers have sent since the last call, in the order of arrival
    /// (engines shm, tcp and mpi). On rank 0, empty elsewhere; never waits, not collective.
    [[nodiscard]] std::vector<ReceivedCommand> take_commands();
    /// Reply to a command with a text of at most Reply::max_text bytes. On rank 0, not collective.
    void reply(std::uint64_t reader, std::uint64_t number, std::string text);

    /// Engine `inproc`: run `work` inside every `end_step`, on the solver's own arrays. All ranks
    /// set the same functions in the same order. An exception of `work` is thrown by `end_step` on
    /// all ranks.
    void on_step(std::function<void(Reader&)> work);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace uzushio::staging
