// ranks: 1 2 3 4
#include "support/staging_suite.hpp"

namespace uzushio::staging::suite {

INSTANTIATE_TEST_SUITE_P(Engines, StagingSuite,
                         testing::Values(by_contact("shm"), by_contact("tcp")), name_of);

} // namespace uzushio::staging::suite
