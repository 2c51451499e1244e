// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_store.h"

#include <gtest/gtest.h>

#include "store/memory/test_holder.h"
#include "store/store_contract.h"

namespace tidemill {

INSTANTIATE_TEST_SUITE_P(Memory, StoreTest, testing::Values(StoreMaker([] {
                           return std::make_unique<MemoryHolder>();
                         })));
INSTANTIATE_TEST_SUITE_P(Memory, WornTest, testing::Values(StoreMaker([] {
                           return std::make_unique<MemoryHolder>();
                         })));

}  // namespace tidemill
