// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "provider/gcp/compute_api.h"
#include "provider/gcp/group_watch.h"
#include "provider/provider.h"

namespace tidemill {

// Machines of Google: a managed instance group a pool, whose instances are made and deleted by
// name. All that is known of them is read from Google, so nothing is lost when a server dies, and
// several servers may call at once. Join tokens stay here: metadata is no place for secrets. Loop
// thread only.
class GcpProvider : public Provider {
 public:
  // Nothing is asked of anybody before the first call. Loop and random outlive it.
  GcpProvider(AsioLoop& loop, Random& random, CloudWorld world, GcpOptions options = {});
  // Leaves all as it is. What is under way is not answered.
  ~GcpProvider() override;

  void Prepare(const PoolSettings& pool, std::function<void(Result<void>)> done) override;
  void Remove(const PoolSettings& pool, std::function<void(Result<void>)> done) override;
  void Make(const PoolSettings& pool, std::vector<MachineOrder> machines,
            std::function<void(Result<Refused>)> done) override;
  void End(const PoolSettings& pool, std::vector<std::string> names,
           std::function<void(Result<void>)> done) override;
  void List(const PoolSettings& pool,
            std::function<void(Result<std::vector<ListedAt>>)> done) override;

 private:
  // kInvalid: the pool's options are wrong.
  Result<GroupWatch*> WatchOf(const PoolSettings& pool);
  template <typename T>
  void Answer(std::function<void(Result<T>)> done, Result<T> result);

  ComputeApi api_;
  // By pool and by where its machines are: another zone is another group. They stay, as calls under
  // way point at them; a pool that nobody asks for any more leaves some bytes behind.
  std::map<std::string, std::unique_ptr<GroupWatch>> watches_;
};

}  // namespace tidemill
