#pragma once

#include <memory>
#include <string>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/reader_options.hpp"
#include "staging/transport/step_source.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging::mpi {

/// Make the writer of a stream for readers in the same MPI job. Collective over the group. Throws
/// StagingError unless MPI was initialised with MPI_THREAD_MULTIPLE.
[[nodiscard]] std::unique_ptr<WriterEngine> make_mpi_engine(const std::string& stream,
                                                            const parallel::CollectiveGroup& group,
                                                            const EngineOptions& options);

/// Return whether a contact is "mpi:NAME".
[[nodiscard]] bool is_mpi_contact(const std::string& contact);

/// Attach to the stream of such a contact (MpiSource::attach).
[[nodiscard]] std::unique_ptr<StepSource> attach_mpi(const std::string& contact,
                                                     const parallel::CollectiveGroup& group,
                                                     const ReaderOptions& options);

} // namespace uzushio::staging::mpi
