#pragma once

#include <memory>
#include <string>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/reader_options.hpp"
#include "staging/transport/step_source.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging {

/// Return the names that `make_engine` accepts.
[[nodiscard]] std::vector<std::string> engine_names();

/// Make the engine that the options name, for the stream `name`. Collective. `group` must outlive
/// the engine.
[[nodiscard]] std::unique_ptr<WriterEngine> make_engine(const std::string& name,
                                                        const parallel::CollectiveGroup& group,
                                                        const EngineOptions& options);

/// Attach to the source of a contact (see Reader). Collective; waits for the writer. `group` must
/// outlive the source.
[[nodiscard]] std::unique_ptr<StepSource> attach(const std::string& contact,
                                                 const parallel::CollectiveGroup& group,
                                                 const ReaderOptions& options);

} // namespace uzushio::staging
