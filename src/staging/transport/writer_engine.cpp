#include "staging/transport/writer_engine.hpp"

#include "staging/staging_error.hpp"

namespace uzushio::staging {

void WriterEngine::on_step(std::function<void(Reader&)>) {
    throw StagingError(
        "Only the engine \"inproc\" can run work inside the solver's step: choose it, "
        "or attach a reader.");
}

} // namespace uzushio::staging
