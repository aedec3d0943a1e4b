// ranks: 1 2 3
#include <deque>
#include <stop_token>
#include <string>
#include <thread>

#include "staging/relay/relay.hpp"
#include "staging/stream_group.hpp"
#include "support/staging_suite.hpp"

namespace uzushio::staging::suite {
namespace {

/// The engine tcp behind so many relays, which end with their writer.
Carrier behind(const std::string& name, int relays) {
    Carrier carrier = by_contact("tcp");
    carrier.name = name;
    const auto contact_behind = [](const std::string& contact, int relay) {
        return contact + (relay == 0 ? "" : "." + std::to_string(relay));
    };
    carrier.write = [=](const std::string& stream, MPI_Comm comm, EngineOptions options) {
        options.engine = "tcp";
        if (stream_group(comm).rank() == 0)
            for (int i = 0; i < relays; ++i) {
                relay::RelayOptions between;
                between.from = contact_behind(options.contact.string(), i);
                between.to = contact_behind(options.contact.string(), i + 1);
                between.once = true;
                between.listen.tls = i % 2 == 1;
                // Stopped and joined at the end: one that began after its writer had gone waits for
                // the next one.
                static std::deque<std::jthread> threads;
                threads.emplace_back([between](const std::stop_token& stop) {
                    const parallel::CollectiveGroup alone = stream_group();
                    relay::Relay(between, alone).run([&] { return !stop.stop_requested(); });
                });
            }
        return Writer(stream, comm, options);
    };
    carrier.read = [=](const std::string&, const std::string& contact, MPI_Comm comm) {
        return Reader(contact_behind(contact, relays), comm);
    };
    carrier.worlds = 6;
    return carrier;
}

INSTANTIATE_TEST_SUITE_P(Engines, StagingSuite,
                         testing::Values(behind("relay", 1), behind("relays", 2)), name_of);

} // namespace
} // namespace uzushio::staging::suite
