#include "staging/transport/mpi/engine.hpp"

#include <string_view>
#include <utility>

#include "staging/require.hpp"
#include "staging/transport/mpi/exposed_segments.hpp"
#include "staging/transport/mpi/job.hpp"
#include "staging/transport/mpi/service.hpp"
#include "staging/transport/mpi/source.hpp"
#include "staging/transport/queued/queued_engine.hpp"

namespace uzushio::staging::mpi {
namespace {

constexpr std::string_view scheme = "mpi:";

} // namespace

std::unique_ptr<WriterEngine> make_mpi_engine(const std::string& stream,
                                              const parallel::CollectiveGroup& group,
                                              const EngineOptions& options) {
    group.run_collectively([] { require_mpi("A writer with the engine mpi", true); });
    const MPI_Comm comm = group.comm() == MPI_COMM_NULL ? MPI_COMM_SELF : group.comm();
    auto own = parallel::Communicator::duplicate(comm);
    auto exposure = std::make_shared<ExposedSegments>();
    return std::make_unique<queued::QueuedEngine>(
        group, options, [exposure](std::size_t bytes) { return exposure->make_segment(bytes); },
        [&](const HeldSteps& held, Queue* queue) -> std::unique_ptr<Service> {
            return std::make_unique<MpiService>(stream, std::move(own), options.mpi.mode, held,
                                                queue, exposure);
        });
}

bool is_mpi_contact(const std::string& contact) { return contact.starts_with(scheme); }

std::unique_ptr<StepSource> attach_mpi(const std::string& contact,
                                       const parallel::CollectiveGroup& group,
                                       const ReaderOptions& options) {
    const std::string stream = contact.substr(scheme.size());
    group.run_collectively([&] {
        require(!stream.empty(), "The contact \"mpi:\" names no stream: give mpi:NAME.");
        require(options.stream.empty() || options.stream == stream, "The contact \"", contact,
                "\" does not lead to the stream \"", options.stream, "\".");
    });
    return MpiSource::attach(stream, group, options);
}

} // namespace uzushio::staging::mpi
