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

/// The writing side of a stream: a solver's ranks describe meshes, fields and blocks once, then put
/// values for each step. What is described stays until it is described anew.
///
/// Opening, `end_step` (or `cancel_step`) and `close` are collective: faults throw StagingError on
/// all ranks, whichever rank's they are. The rest is each rank's own, and throws StagingError where
/// it is misused. One thread at a time may use a writer.
///
/// A rank that fails alone says so by `cancel_step`, `abandon` or its end (its destructor, before
/// `close`): the others do not wait for it, but throw what it said.
///
/// In a process forked from the one that opened it, a writer does nothing at `close`, `abandon` and
/// its end, and publishes nothing.
class Writer {
  public:
    /// Open the stream `name`. MPI_COMM_NULL: this process alone.
    Writer(std::string name, MPI_Comm comm, const EngineOptions& options);
    /// With an engine of one's own.
    Writer(std::string name, MPI_Comm comm, std::unique_ptr<WriterEngine> engine);
    Writer(Writer&&) noexcept;
    ~Writer(); ///< without `close`: stops at once, and readers see the writer gone

    /// Numbers and texts that go with the steps from now on.
    void attribute(std::string name, std::variant<std::int64_t, double, std::string> value);

    /// A mesh of `elements` (global indices), with its coordset of the same name. `dimension`
    /// counts axes in use from x.
    void uniform_mesh(std::string name, const Box& elements, std::array<double, 3> origin,
                      std::array<double, 3> spacing, std::uint8_t dimension = 3);
    /// `coordinates`: of all vertices along z, y, x; of the whole mesh, on every rank the same. May
    /// be empty along axes that are not in use.
    void rectilinear_mesh(std::string name, const Box& elements,
                          std::array<std::vector<double>, 3> coordinates,
                          std::uint8_t dimension = 3);
    /// The vertices' coordinates are the vertex field `field`, with components x, y, z, which is
    /// defined by this too (of `type`), and is put as any other.
    void curvilinear_mesh(std::string name, const Box& elements, std::string field,
                          ScalarType type = ScalarType::float64, std::uint8_t dimension = 3);

    void field(std::string name, std::string_view mesh, Association association, ScalarType type,
               std::uint32_t components = 1, std::vector<Attribute> attributes = {});

    /// A block that this rank holds: `owned` are its elements if `association` is element, and then
    /// its vertices are theirs; or the other way about (see Block).
    void block(std::uint64_t id, std::string_view mesh, const Box& owned,
               Association association = Association::element);
    /// It is this rank's no more.
    void remove_block(std::uint64_t id);

    /// On all ranks, with the same index; but no rank waits for another here.
    void begin_step(std::int64_t index, double time);
    /// Values of a field on a block, ghost layers included, counts as the block's box grown by
    /// them. They are read in `end_step`: leave them alone until then. Any strides.
    void put(std::string_view field, std::uint64_t block, const ConstArrayView& values,
             const Ghosts& ghosts = {});
    /// The same without gaps, components side by side.
    void put(std::string_view field, std::uint64_t block, const void* values,
             const Ghosts& ghosts = {});
    /// Memory to write a block's values of this step into, instead of `put`: without gaps,
    /// components side by side. Where the engine can, readers then get it without a copy. Valid
    /// until `end_step`.
    [[nodiscard]] ArrayView buffer(std::string_view field, std::uint64_t block,
                                   const Ghosts& ghosts = {});
    /// Publish what was put; blocks without values are not in the step. Returns its sequence
    /// number, or nothing if the queue's policy dropped it. After an error the step is over too,
    /// and the next one may begin.
    std::optional<std::uint64_t> end_step();

    /// Give the step up, for `reason`, instead of `end_step` on ranks that cannot finish it
    /// (collective with the others' `end_step`, which throws the reason): nothing is published, and
    /// the next step may begin. Throws StagingError if there is no step here to give up.
    void cancel_step(std::string_view reason);

    /// Give readers what is left, then end the stream. Nothing if it is closed already.
    void close();

    /// Stop at once, without a word to readers, who see the writer gone: for a solver that fails.
    /// Not collective: other ranks throw, with `reason`, at their next step. As the destructor, but
    /// memory that `buffer` gave stays until that.
    void abandon(std::string_view reason = {});

    [[nodiscard]] QueueCounters counters() const;
    [[nodiscard]] const std::string& name() const;

    /// Engine `inproc`: run `work` inside every `end_step`, on the solver's own arrays. All ranks
    /// give the same work in the same order. What it throws, `end_step` throws on all ranks.
    void on_step(std::function<void(Reader&)> work);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace uzushio::staging
