#include "staging/transport/socket/engine.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "staging/transport/socket/secret.hpp"
#include "staging/transport/socket/service.hpp"

namespace uzushio::staging::socket {
namespace {

/// Return a secret made by rank 0, on all ranks.
Secret shared_secret(const parallel::CollectiveGroup& group) {
    Secret secret{};
    group.run_collectively([&] {
        if (group.rank() == 0)
            secret = make_secret();
    });
    const auto bytes = group.broadcast({secret.begin(), secret.end()});
    std::copy(bytes.begin(), bytes.end(), secret.begin());
    return secret;
}

} // namespace

SocketEngine::SocketEngine(const std::string& stream, const parallel::CollectiveGroup& group,
                           const EngineOptions& given, const Memory& memory) {
    EngineOptions options = given;
    if (options.contact.empty())
        options.contact = stream + ".contact";
    const Secret secret = shared_secret(group);
    std::string address;
    const queued::MakeService serve = [&](const HeldSteps& held, Queue* queue) {
        auto service = std::make_unique<SocketService>(
            SocketService::WriterRank{stream, static_cast<std::uint32_t>(group.rank()),
                                      static_cast<std::uint32_t>(group.size()), memory.node},
            secret, options.tcp, held, queue);
        address = service->endpoint().address;
        return service;
    };
    queued_ = std::make_unique<queued::QueuedEngine>(group, options, memory.make, serve);
    group.run_collectively([&] {
        if (group.rank() == 0)
            contact_.emplace(options.contact, Contact{stream, options.engine, address, secret,
                                                      options.tcp.tls, 0, ""});
    });
}

void SocketEngine::close() {
    struct Remove { // also if closing fails
        std::optional<PublishedContact>& contact;
        ~Remove() { contact.reset(); }
    } remove{contact_};
    queued_->close();
}

} // namespace uzushio::staging::socket
