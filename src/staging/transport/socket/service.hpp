#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "staging/engine_options.hpp"
#include "staging/queue/held_steps.hpp"
#include "staging/queue/queue.hpp"
#include "staging/transport/service.hpp"
#include "staging/transport/socket/secret.hpp"

namespace uzushio::staging::socket {

/// Serves one rank's steps over TCP: one background thread, asleep in epoll when nobody asks. A
/// client that has not proved within seconds that it knows the secret is dropped, and so is one
/// that talks out of turn; none of them holds up another reader, or the solver.
class SocketService : public Service {
  public:
    /// Of which rank of which writer.
    struct Owner {
        std::string stream; ///< at most 200 bytes
        std::uint32_t rank = 0;
        std::uint32_t ranks = 1;
        std::string node; ///< for Endpoint::node; empty: memory is not shared
    };

    /// Listens at once; rank 0 takes nobody in before `open`. `held` and `queue` (of rank 0, else
    /// null) must outlive the service. Throws StagingError if the address or port cannot be had.
    SocketService(Owner owner, const Secret& secret, const EngineOptions::Tcp& options,
                  const HeldSteps& held, Queue* queue);
    ~SocketService() override;

    [[nodiscard]] Endpoint endpoint() const override;
    void open(const Endpoints& all) override;
    void close(std::chrono::nanoseconds limit) override;

  private:
    class Core;
    std::unique_ptr<Core> core_;
};

} // namespace uzushio::staging::socket
