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

/// Threads of relays, stopped and joined before `main` returns: OpenSSL ends at the exit of the
/// process. A relay that began after its writer had gone waits for the next one.
class RelayThreads : public testing::Environment {
  public:
    void start(relay::RelayOptions options) {
        threads_.emplace_back([options](const std::stop_token& stop) {
            const parallel::CollectiveGroup alone = stream_group();
            relay::Relay(options, alone).run([&] { return !stop.stop_requested(); });
        });
    }
    void TearDown() override { threads_.clear(); }

  private:
    std::deque<std::jthread> threads_;
};

RelayThreads& relay_threads() {
    static auto* threads = // owned by GoogleTest
        static_cast<RelayThreads*>(testing::AddGlobalTestEnvironment(new RelayThreads));
    return *threads;
}

/// Return the engine tcp through `relays` relays, which end with their writer.
TestedEngine behind(const std::string& name, int relays) {
    relay_threads(); // before the tests begin
    TestedEngine tested = by_contact("tcp");
    tested.name = name;
    const auto contact_behind = [](const std::string& contact, int relay) {
        return contact + (relay == 0 ? "" : "." + std::to_string(relay));
    };
    tested.write = [=](const std::string& stream, MPI_Comm comm, EngineOptions options) {
        options.engine = "tcp";
        if (stream_group(comm).rank() == 0)
            for (int i = 0; i < relays; ++i) {
                relay::RelayOptions between;
                between.from = contact_behind(options.contact.string(), i);
                between.to = contact_behind(options.contact.string(), i + 1);
                between.once = true;
                between.listen.tls = i % 2 == 1;
                relay_threads().start(between);
            }
        return Writer(stream, comm, options);
    };
    tested.read = [=](const std::string&, const std::string& contact, MPI_Comm comm) {
        return Reader(contact_behind(contact, relays), comm);
    };
    tested.random_streams = 6;
    return tested;
}

INSTANTIATE_TEST_SUITE_P(Engines, StagingSuite,
                         testing::Values(behind("relay", 1), behind("relays", 2)), name_of);

} // namespace
} // namespace uzushio::staging::suite
