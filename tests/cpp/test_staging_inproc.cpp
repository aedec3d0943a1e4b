// ranks: 1 2 4
#include "support/staging_suite.hpp"

namespace uzushio::staging::suite {
namespace {

/// Work runs inside the writer: there are no other readers.
Carrier inside() {
    Carrier carrier = by_contact("inproc");
    carrier.read = nullptr;
    carrier.worlds = 30;
    return carrier;
}

INSTANTIATE_TEST_SUITE_P(Engines, StagingSuite, testing::Values(inside()), name_of);

} // namespace
} // namespace uzushio::staging::suite
