#include "staging/transport/engines.hpp"

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "staging/home_path.hpp"
#include "staging/require.hpp"
#include "staging/transport/file/file_engine.hpp"
#include "staging/transport/file/file_source.hpp"
#include "staging/transport/inproc/engine.hpp"
#include "staging/transport/mpi/engine.hpp"
#include "staging/transport/queued/heap_segment.hpp"
#include "staging/transport/shm/node_name.hpp"
#include "staging/transport/shm/shared_segment.hpp"
#include "staging/transport/socket/engine.hpp"
#include "staging/transport/socket/source.hpp"

namespace uzushio::staging {
namespace {

using MakeEngine = std::function<std::unique_ptr<WriterEngine>(
    const std::string& name, const parallel::CollectiveGroup& group, const EngineOptions& options)>;
using AttachSource = std::function<std::unique_ptr<StepSource>(
    const std::string& contact, const parallel::CollectiveGroup& group,
    const ReaderOptions& options)>;

template <class Made>
constexpr auto make = [](const auto&... arguments) { return std::make_unique<Made>(arguments...); };

/// Return the constructor of the engine with such segments and node name.
MakeEngine make_socket_engine(MakeSegment make_segment, std::string (*node)()) {
    return [make_segment = std::move(make_segment), node](const auto& name, const auto& group,
                                                          const auto& options) {
        return std::make_unique<socket::SocketEngine>(
            name, group, options, socket::SocketEngine::Memory{make_segment, node()});
    };
}

struct EngineEntry {
    std::string_view name;
    MakeEngine make;
};

/// All engines that write, by name.
const std::vector<EngineEntry>& writers() {
    static const std::vector<EngineEntry> entries{
        {"inproc", [](const auto&, const auto& group,
                      const auto&) { return std::make_unique<inproc::InprocEngine>(group); }},
        {"file", make<file::FileEngine>},
        {"shm", make_socket_engine(shm::make_shared_segment, shm::node_name)},
        {"tcp", make_socket_engine(queued::make_heap_segment, [] { return std::string(); })},
        {"mpi", mpi::make_mpi_engine},
    };
    return entries;
}

struct ContactEntry {
    std::function<bool(const std::string& contact)> matches; ///< whether the engine reads it
    AttachSource attach;
};

/// Engines that read. The first entry that matches the contact is used.
const std::vector<ContactEntry>& readers() {
    static const std::vector<ContactEntry> entries{
        {file::is_store_contact, make<file::FileSource>},
        {mpi::is_mpi_contact, mpi::attach_mpi},
        // Last: any name matches, because the contact file may not exist yet.
        {[](const std::string&) { return true; }, make<socket::SocketSource>},
    };
    return entries;
}

} // namespace

std::vector<std::string> engine_names() {
    std::vector<std::string> names;
    for (const auto& entry : writers())
        names.emplace_back(entry.name);
    return names;
}

std::unique_ptr<WriterEngine> make_engine(const std::string& name,
                                          const parallel::CollectiveGroup& group,
                                          const EngineOptions& options) {
    const EngineEntry* chosen = nullptr;
    group.run_collectively([&] {
        std::string names;
        for (const auto& entry : writers()) {
            if (entry.name == options.engine)
                chosen = &entry;
            names += (names.empty() ? "" : ", ") + std::string(entry.name);
        }
        require(options.engine != "adios2",
                "The staging engine adios2 is available from Python only: open the "
                "stream from Python, or choose one of ",
                names, ".");
        require(chosen != nullptr, "There is no staging engine \"", options.engine,
                "\": choose one of ", names, ".");
    });
    return chosen->make(name, group, options);
}

std::unique_ptr<StepSource> attach(const std::string& given, const parallel::CollectiveGroup& group,
                                   const ReaderOptions& options) {
    const std::string contact = with_home(given).string();
    // Rank 0 decides for all ranks: files may appear or disappear meanwhile.
    const auto& entries = readers();
    std::size_t index = 0;
    if (group.rank() == 0)
        while (index < entries.size() && !entries[index].matches(contact))
            ++index;
    index = static_cast<std::size_t>(group.max(index));
    group.run_collectively([&] {
        require(index != entries.size(), "No engine of this build reads from \"", contact,
                "\": give a contact file, host:port, mpi:NAME or the folder of stored steps.");
    });
    return entries[index].attach(contact, group, options);
}

} // namespace uzushio::staging
