#pragma once

#include <memory>
#include <string>
#include <vector>

#include "staging/engine_options.hpp"
#include "staging/reader_options.hpp"
#include "staging/team.hpp"
#include "staging/transport/source.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::staging {

/// Names that `make_engine` knows.
[[nodiscard]] std::vector<std::string> engine_names();

/// The engine that the options name, for the stream `name`. Collective. It uses `team`, which must
/// outlive it.
[[nodiscard]] std::unique_ptr<WriterEngine> make_engine(const std::string& name, const Team& team,
                                                        const EngineOptions& options);

/// The source that a contact leads to (see Reader). Collective; waits for the writer. It may use
/// `team`, which must outlive it.
[[nodiscard]] std::unique_ptr<Source> attach(const std::string& contact, const Team& team,
                                             const ReaderOptions& options);

} // namespace uzushio::staging
