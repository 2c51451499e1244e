// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "provider/gcp/group_watch.h"
#include "provider/gcp/make_plan.h"
#include "provider/provider.h"

namespace tidemill {

// One order of machines on its way: looks, asks the group for what is not there, and looks again
// until each is there or has failed, or the time is over. What failed is taken out of the group,
// which would go on to try. It lives as long as something of it is under way. Loop thread only.
class MakeMachines : public std::enable_shared_from_this<MakeMachines> {
 public:
  using Done = std::function<void(Result<Refused>)>;

  MakeMachines(ComputeApi& api, GroupWatch& watch, std::vector<std::string> names, Done done);
  void Start();

 private:
  void Look();
  void Decide();
  void Create(std::vector<std::string> instances);
  void OnCreated(const std::vector<std::string>& instances, const Result<void>& made);
  void Wait();
  void Settle(MakePlan plan);
  void Finish(Result<Refused> result);

  ComputeApi& api_;
  GroupWatch& watch_;
  const std::vector<std::string> machines_;
  const Done done_;
  const TimePoint until_;
  std::set<std::string> asked_;
};

}  // namespace tidemill
