// SPDX-License-Identifier: Apache-2.0
// Streams into containers of a Docker Engine.
#include <gtest/gtest.h>

#include "engine/docker/docker_fixture.h"
#include "engine/engine_stream_contract.h"

namespace tidemill {

INSTANTIATE_TEST_SUITE_P(Docker, StreamEngineTest, testing::Values(kMakeDocker));
INSTANTIATE_TEST_SUITE_P(Remapped, StreamEngineTest, testing::Values(kMakeRemappedDocker));

}  // namespace tidemill
