// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "provider/aws/group_calls.h"
#include "provider/aws/group_memory.h"
#include "provider/aws/group_plan.h"
#include "provider/aws/make.h"
#include "provider/provider.h"

namespace tidemill {

struct AwsOptions {
  AwsCallOptions calls = {};  // the clock of its world is the provider's
  AwsMakeTimes make = {};
  Duration unordered = kUnordered;  // an instance that nobody has ordered is ended after this
};

// Machines that are instances of EC2, with an Auto Scaling group a pool. A machine's name is a tag
// of its instance; all else is known to AWS, so nothing is lost when a server dies, and several
// servers may call at once. Loop thread only. What survives a restart is with AWS.
class AwsProvider : public Provider {
 public:
  // All outlive it.
  AwsProvider(AsioLoop& loop, Random& random, Log& log, AwsOptions options);
  // Leaves all machines as they are. What is under way is not answered.
  ~AwsProvider() override;

  void Prepare(const PoolSettings& pool, std::function<void(Result<void>)> done) override;
  void Remove(const PoolSettings& pool, std::function<void(Result<void>)> done) override;
  void Make(const PoolSettings& pool, std::vector<MachineOrder> machines,
            std::function<void(Result<Refused>)> done) override;
  void End(const PoolSettings& pool, std::vector<std::string> names,
           std::function<void(Result<void>)> done) override;
  // Also ends what nobody has ordered, and what is dead and still counts: it has to be asked for
  // each second or so.
  void List(const PoolSettings& pool,
            std::function<void(Result<std::vector<ListedAt>>)> done) override;

 private:
  // What is remembered of a pool.
  struct Memory {
    GroupMemory machines;
    TimePoint last_order{};
    int making = 0;
    bool is_settling = false;  // some are about to go
    bool tidying = false;
    TimePoint tidy_after{};
    std::shared_ptr<AwsTriedBefore> before = std::make_shared<AwsTriedBefore>();
  };
  using Key = std::pair<std::string, std::string>;
  Memory& MemoryOf(const AwsGroup& group);
  template <typename T>
  void Soon(std::function<void(Result<T>)> done, Result<T> result);
  void Tidy(const AwsGroup& group, Memory& memory, const AwsView& view);
  void CarryOut(const AwsGroup& group, const AwsTidyPlan& plan,
                const std::function<void(Result<void>)>& done);

  // Constant after construction.
  Log& log_;
  const std::string region_;  // of pools that name none
  const AwsMakeTimes make_times_;
  const Duration unordered_;

  // Loop thread only. The calls are dropped before what they use.
  std::map<Key, Memory> memories_;  // by project and pool
  GroupCalls calls_;
};

}  // namespace tidemill
