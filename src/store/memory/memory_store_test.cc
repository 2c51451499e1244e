// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_store.h"

#include <gtest/gtest.h>

#include "store/store_contract.h"

namespace tidemill {
namespace {

class MemoryHolder : public StoreHolder {
 public:
  Store& store() override { return store_; }

 private:
  // A clock that stands still: nothing in the contract waits for time to pass.
  MemoryStore store_{[] { return std::int64_t{1'700'000'000'000'000}; }};
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Memory, StoreTest, testing::Values(StoreMaker([] {
                           return std::make_unique<MemoryHolder>();
                         })));

}  // namespace tidemill
