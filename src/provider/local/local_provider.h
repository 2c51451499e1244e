// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "provider/local/local_options.h"
#include "provider/provider.h"

namespace tidemill {

// Machines that are agents on this one: each is a process, in a folder of its own. All that is
// known of them is in their folders, so nothing is lost when a server dies, and several servers of
// one machine may share them; see machine_folder.h. Loop thread only.
class LocalProvider : public Provider {
 public:
  // Loop and worker outlive it. A work takes a few milliseconds, and seconds only if a disk hangs.
  LocalProvider(Loop& loop, Worker& worker, LocalOptions options);
  // Leaves all machines as they are. What is under way is still done, but not answered.
  ~LocalProvider() override = default;

  bool joins_by_token() const override { return true; }
  void Prepare(const PoolSettings& pool, std::function<void(Result<void>)> done) override;
  void Remove(const PoolSettings& pool, std::function<void(Result<void>)> done) override;
  void Make(const PoolSettings& pool, std::vector<MachineOrder> machines,
            std::function<void(Result<Refused>)> done) override;
  void End(const PoolSettings& pool, std::vector<std::string> names,
           std::function<void(Result<void>)> done) override;
  void List(const PoolSettings& pool,
            std::function<void(Result<std::vector<ListedAt>>)> done) override;

 private:
  // `work` is tried again while others hold the pool's lock, until then.
  template <typename T>
  struct Call {
    std::function<Result<T>(const LocalOptions&)> work;
    std::function<void(Result<T>)> done;
    TimePoint until{};
  };
  template <typename T>
  void Run(Call<T> call);

  Loop& loop_;
  Worker& worker_;
  const std::shared_ptr<const LocalOptions> options_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace tidemill
