#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bindings/staging.hpp"
#include "bindings/unlocked.hpp"
#include "staging/reader.hpp"

namespace uzushio::bindings {

/// Reader for Python. A mutex serialises threads. It counts the arrays that refer to a step's
/// memory; the step cannot be released while there are any.
class PythonReader {
  public:
    explicit PythonReader(std::unique_ptr<staging::Reader> reader)
        : own_(std::move(reader)), reader_(own_.get()) {}
    /// The solver's own reader (engine `inproc`), until `invalidate`.
    explicit PythonReader(staging::Reader& reader) : reader_(&reader) {}

    /// Call a member of the reader with the mutex locked and without Python's lock.
    template <class Work, class... Arguments>
    auto operator()(Work&& work, Arguments&&... arguments) {
        return with_lock(mutex_, [&] {
            return std::invoke(work, get(), std::forward<Arguments>(arguments)...);
        });
    }

    [[nodiscard]] std::string next(double limit);
    [[nodiscard]] staging::StepInfo step();
    /// Return (sequence, index, time) of each stored step; None for a running stream.
    [[nodiscard]] nanobind::object stored_steps();
    [[nodiscard]] std::uint64_t sequence();
    [[nodiscard]] std::vector<staging::Box> read(const std::string& field, const staging::Box& box,
                                                 const Target& to);
    void read_block(const std::string& field, std::uint32_t block, bool with_ghosts,
                    const Target& to, bool component_axis);
    /// Read many blocks: {index: array}.
    void read_blocks(const std::string& field, const nanobind::dict& blocks, bool with_ghosts,
                     bool component_axis);
    /// Return an array [z, y, x, component], or None. `self` is this reader in Python.
    [[nodiscard]] nanobind::object view(nanobind::handle self, const std::string& field,
                                        std::uint32_t block);
    /// Return (number, text) of each reply.
    [[nodiscard]] nanobind::list take_replies();
    void release();
    /// Detach now, or when the last view has ended; collective.
    void detach();
    /// Abort because of an error of this kind, which the other ranks throw; not collective.
    void fail(const std::string& kind, const std::string& text);
    /// End the use of the solver's reader. Throws StagingError if there are views.
    void invalidate();

  private:
    [[nodiscard]] staging::Reader& get() const;
    [[nodiscard]] static std::optional<std::string> refusal(int views);
    template <class Detach> void detach_by(Detach&& detach, int views);
    /// Count down the views; the last one ends a detached reader.
    void end_view() noexcept;

    std::unique_ptr<staging::Reader> own_;
    staging::Reader* reader_ = nullptr;
    std::recursive_mutex mutex_; ///< taken without Python's lock
    int views_ = 0;              ///< counted with Python's lock
    std::atomic<bool> detached_ = false;
};

} // namespace uzushio::bindings
