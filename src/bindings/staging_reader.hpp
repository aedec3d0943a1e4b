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

/// A Reader in Python's hands. Threads take turns at it. It keeps count of the arrays that look at
/// a step's own memory: while there are any, the step cannot be given back.
class PythonReader {
  public:
    explicit PythonReader(std::unique_ptr<staging::Reader> reader)
        : own_(std::move(reader)), reader_(own_.get()) {}
    /// The solver's own reader (engine `inproc`), until `leave`.
    explicit PythonReader(staging::Reader& reader) : reader_(&reader) {}

    [[nodiscard]] std::string next(double limit);
    [[nodiscard]] staging::StepInfo step();
    [[nodiscard]] std::uint64_t sequence();
    [[nodiscard]] std::vector<BoxPair> read(const std::string& field, const BoxPair& box,
                                            const Target& to);
    void read_block(const std::string& field, std::uint32_t block, bool with_ghosts,
                    const Target& to, bool component_axis);
    /// Many blocks: {place: array}.
    void read_blocks(const std::string& field, const nanobind::dict& blocks, bool with_ghosts,
                     bool component_axis);
    /// An array [z, y, x, component], or None. `self` is this reader in Python.
    [[nodiscard]] nanobind::object view(nanobind::handle self, const std::string& field,
                                        std::uint32_t block);
    [[nodiscard]] bool verify(const std::string& field, std::uint32_t block);
    void release();
    /// Detach now, or as soon as the last view is gone; collective.
    void detach();
    /// The same alone, because of an error of this kind: not collective, and the other ranks throw
    /// it.
    void fail(const std::string& kind, const std::string& text);
    /// The solver takes its reader back: throws StagingError if there are views.
    void leave();

  private:
    [[nodiscard]] staging::Reader& get() const;
    [[nodiscard]] static std::optional<std::string> refusal(int views);
    template <class Part> void part(Part&& with, int views);
    /// One view less; the last one's end is the reader's if it leaves.
    void look_over() noexcept;

    std::unique_ptr<staging::Reader> own_;
    staging::Reader* reader_ = nullptr;
    std::recursive_mutex turn_; ///< taken without Python's lock
    int views_ = 0;             ///< counted with Python's lock
    std::atomic<bool> leaving_ = false;
};

} // namespace uzushio::bindings
