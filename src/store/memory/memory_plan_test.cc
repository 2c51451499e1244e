// SPDX-License-Identifier: Apache-2.0
// What the leader reads and writes, as sentences.
#include <memory>

#include <gtest/gtest.h>

#include "store/memory/test_holder.h"
#include "store/plan_contract.h"
#include "store/plan_machines_contract.h"
#include "store/plan_missing_contract.h"
#include "store/snapshot_contract.h"

namespace tidemill {

INSTANTIATE_TEST_SUITE_P(Memory, PlanStoreTest, testing::Values(StoreMaker([] {
                           return std::make_unique<MemoryHolder>();
                         })));

}  // namespace tidemill
