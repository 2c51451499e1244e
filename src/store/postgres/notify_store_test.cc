// SPDX-License-Identifier: Apache-2.0
// Who is told of jobs, as sentences.
#include <memory>

#include <gtest/gtest.h>

#include "store/notify_contract.h"
#include "store/postgres/test_holder.h"

namespace tidemill {

INSTANTIATE_TEST_SUITE_P(Postgres, NotifyStoreTest, testing::Values(StoreMaker([] {
                           return std::make_unique<PostgresHolder>();
                         })));

}  // namespace tidemill
