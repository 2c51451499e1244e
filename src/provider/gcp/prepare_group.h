// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "provider/gcp/compute_api.h"
#include "provider/gcp/group_watch.h"
#include "provider/gcp/requests.h"

namespace tidemill {

// Makes the template and the group of a pool, or changes which template the group has. Each step
// finds out what is there, so that it may be said twice, and by two at once. Lives as long as
// something of it is under way. Loop thread only.
class PrepareGroup : public std::enable_shared_from_this<PrepareGroup> {
 public:
  using Done = std::function<void(Result<void>)>;

  PrepareGroup(ComputeApi& api, const PoolSettings& settings, GcpPool pool, Done done);
  void Start();

 private:
  void FindAdopted();
  void MakeTemplate();
  void FindGroup();
  void MakeGroup();
  void SetTemplate();
  ComputeAsk Ask(std::string method, std::string path) const;
  void Finish(const Result<void>& result) { done_(result); }

  ComputeApi& api_;
  const GcpPool pool_;
  const GcpNames names_;
  const GcpTemplate template_;
  const Done done_;
  const TimePoint until_;
};

// Takes away the group and the templates of a pool, if no machine is in it any more. Lives and may
// be said as the above.
class RemoveGroup : public std::enable_shared_from_this<RemoveGroup> {
 public:
  using Done = std::function<void(Result<void>)>;

  RemoveGroup(ComputeApi& api, GroupWatch& watch, Done done);
  void Start() { Look(); }

 private:
  void Look();
  void DeleteGroup();

  ComputeApi& api_;
  GroupWatch& watch_;
  const Done done_;
  const TimePoint until_;
};

// Deletes a pool's templates but for the one to keep. Those that are in use stay, without an error.
struct TemplateSweep {
  std::string project;
  GcpNames names;
  std::string keep;
};
void DeleteTemplates(ComputeApi& api, const TemplateSweep& sweep, TimePoint until,
                     const std::function<void(Result<void>)>& done);

}  // namespace tidemill
