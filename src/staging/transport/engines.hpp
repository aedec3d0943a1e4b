#pragma once

#include <memory>
#include <string>
#include <vector>

#include "parallel/collective_group.hpp"
#include "staging/engine_options.hpp"
#include "staging/reader_options.hpp"
#include "staging/transport/source.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging {

/// Names that `make_engine` knows.
[[nodiscard]] std::vector<std::string> engine_names();

/// The engine that the options name, for the stream `name`. Collective. It uses `group`, which must
/// outlive it.
[[nodiscard]] std::unique_ptr<WriterEngine> make_engine(const std::string& name,
                                                        const parallel::CollectiveGroup& group,
                                                        const EngineOptions& options);

/// The source that a contact leads to (see Reader). Collective; waits for the writer. It may use
/// `group`, which must outlive it.
[[nodiscard]] std::unique_ptr<Source> attach(const std::string& contact,
                                             const parallel::CollectiveGroup& group,
                                             const ReaderOptions& options);

} // namespace uzushio::staging
