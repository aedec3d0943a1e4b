#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"

namespace uzushio::staging {

class Reader;

/// Work of the options `pipeline` and `python` inside the steps of engine inproc. Collective; an
/// error throws StagingError on this rank.
class InSituWork {
  public:
    virtual ~InSituWork() = default;
    virtual void step(Reader& reader) = 0;
    /// Complete the results.
    virtual void finish() = 0;
};

/// Load the work that the options name, in a Python interpreter inside this process; null if they
/// name none. Collective; throws StagingError on all ranks.
///
/// Python is that of the environment which holds this library (see embedded_python.cpp).
[[nodiscard]] std::unique_ptr<InSituWork> load_in_situ_work(const std::string& stream,
                                                            const parallel::CollectiveGroup& group,
                                                            MPI_Comm comm,
                                                            const EngineOptions::InSitu& options);

} // namespace uzushio::staging
