#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bindings/staging.hpp"
#include "bindings/unlocked.hpp"
#include "staging/reader.hpp"
#include "staging/team.hpp"

namespace uzushio::bindings {

/// A Reader in Python's hands. Threads take turns at it. It keeps count of the arrays that look at
/// a step's own memory: while there are any, the step cannot be given back.
class PythonReader {
  public:
    PythonReader(std::unique_ptr<staging::Reader> reader, MPI_Comm comm)
        : own_(std::move(reader)), reader_(own_.get()), team_(comm) {}
    /// The solver's own reader (engine `inproc`), until `leave`.
    explicit PythonReader(staging::Reader& reader) : reader_(&reader) {}

    [[nodiscard]] std::string next(double limit);
    [[nodiscard]] staging::StepInfo step();
    [[nodiscard]] std::uint64_t sequence();
    [[nodiscard]] std::vector<BoxPair> read(const std::string& field, const BoxPair& box,
                                            const Target& to);
    void read_block(const std::string& field, std::uint32_t block, bool with_ghosts,
                    const Target& to);
    /// An array [z, y, x, component], or None. `self` is this reader in Python.
    [[nodiscard]] nanobind::object view(nanobind::handle self, const std::string& field,
                                        std::uint32_t block);
    [[nodiscard]] bool verify(const std::string& field, std::uint32_t block);
    void release();
    /// Detach now, or as soon as the last view is gone; collective. Ranks that are in another
    /// collective call meanwhile throw what the last read threw on the rank that leaves.
    void detach();
    /// The solver takes its reader back: throws StagingError if there are views.
    void leave();

  private:
    [[nodiscard]] staging::Reader& get() const;
    [[nodiscard]] bool meet(bool leaves, int views);
    void check_views(int views);
    /// One view less; the last one's end is the reader's if it leaves.
    void look_over() noexcept;
    /// Read something in turn, and remember what it throws.
    template <class Work> auto reading(Work&& work) {
        return in_turn(turn_, [&] {
            try {
                return work(get());
            } catch (...) {
                fault_ = std::current_exception();
                throw;
            }
        });
    }

    std::unique_ptr<staging::Reader> own_;
    staging::Reader* reader_ = nullptr;
    staging::Team team_;
    std::recursive_mutex turn_; ///< taken without Python's lock
    int views_ = 0;             ///< counted with Python's lock
    std::atomic<bool> leaving_ = false;
    std::exception_ptr fault_; ///< of this rank alone, in the present step
};

} // namespace uzushio::bindings
