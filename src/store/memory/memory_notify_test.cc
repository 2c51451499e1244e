// SPDX-License-Identifier: Apache-2.0
// Who is told of jobs, as sentences.
#include <memory>

#include <gtest/gtest.h>

#include "store/memory/test_holder.h"
#include "store/notify_contract.h"

namespace tidemill {

INSTANTIATE_TEST_SUITE_P(Memory, NotifyStoreTest, testing::Values(StoreMaker([] {
                           return std::make_unique<MemoryHolder>();
                         })));

}  // namespace tidemill
