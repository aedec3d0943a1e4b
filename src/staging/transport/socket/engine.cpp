#include "staging/transport/socket/engine.hpp"

#include <cstdint>
#include <filesystem>

#include "staging/transport/socket/secret.hpp"
#include "staging/transport/socket/service.hpp"

namespace uzushio::staging::socket {
namespace {

EngineOptions with_contact(EngineOptions options, const std::string& stream) {
    if (options.contact.empty())
        options.contact = stream + ".contact";
    return options;
}

} // namespace

SocketEngine::SocketEngine(const std::string& stream, const parallel::CollectiveGroup& group,
                           const EngineOptions& options, const Memory& memory)
    : SocketEngine(stream, group, with_contact(options, stream), memory,
                   group.from_root(make_secret)) {}

SocketEngine::SocketEngine(const std::string& stream, const parallel::CollectiveGroup& group,
                           const EngineOptions& options, const Memory& memory, const Secret& secret)
    : QueuedEngine(group, options, memory.make, [&](const HeldSteps& held, Queue* queue) {
          return std::make_unique<SocketService>(
              SocketService::WriterRank{stream, static_cast<std::uint32_t>(group.rank()),
                                        static_cast<std::uint32_t>(group.size()), memory.node},
              secret, options.tcp, held, queue);
      }) {
    group.run_on_root([&] {
        contact_.emplace(options.contact, Contact{stream, options.engine, endpoint().address,
                                                  secret, options.tcp.tls, 0, ""});
    });
}

void SocketEngine::close() {
    struct Remove { // also if closing fails
        std::optional<PublishedContact>& contact;
        ~Remove() { contact.reset(); }
    } remove{contact_};
    QueuedEngine::close();
}

} // namespace uzushio::staging::socket
