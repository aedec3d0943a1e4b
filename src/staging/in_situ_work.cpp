#include "staging/in_situ_work.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>

#include "staging/embedded_python.hpp"

namespace uzushio::staging {
namespace {

/// Work in Python: uzushio.pipeline.embedded has the functions, which know it by its number.
class PythonWork : public InSituWork {
  public:
    /// Collective.
    PythonWork(EmbeddedPython python, const std::string& stream, std::uint64_t comm,
               const EngineOptions::InSitu& options)
        : python_(python), number_(next_number()) {
        python_.call("load",
                     {UZUSHIO_VERSION, stream, options.pipeline.string(), options.python.string(),
                      options.output.string()},
                     {number_, comm});
    }
    void step(Reader& reader) override {
        python_.call("step", {}, {number_, reinterpret_cast<std::uintptr_t>(&reader)});
    }
    void finish() override { python_.call("finish", {}, {number_, 0}); }

  private:
    static std::uint64_t next_number() {
        static std::atomic<std::uint64_t> made = 0;
        return ++made;
    }

    EmbeddedPython python_;
    std::uint64_t number_;
};

} // namespace

std::unique_ptr<InSituWork> load_in_situ_work(const std::string& stream,
                                              const parallel::CollectiveGroup& group, MPI_Comm comm,
                                              const EngineOptions::InSitu& options) {
    std::unique_ptr<InSituWork> work;
    if (options.pipeline.empty() && options.python.empty())
        return work;
    std::uint64_t handle = 0; // of no communicator
    if (comm != MPI_COMM_NULL)
        std::memcpy(&handle, static_cast<const void*>(&comm), sizeof(comm));
    std::optional<EmbeddedPython> python;
    group.run_collectively([&] { python.emplace("uzushio.pipeline.embedded"); });
    group.run_collectively(
        [&] { work = std::make_unique<PythonWork>(*python, stream, handle, options); });
    return work;
}

} // namespace uzushio::staging
