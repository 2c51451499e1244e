// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "provider/gcp/compute_api.h"
#include "provider/gcp/names.h"
#include "provider/gcp/sight.h"
#include "wire/gcp_json.h"

namespace tidemill {

// The group of one pool as it was last seen, and what is known of its machines. One look at a time,
// whoever asks. A look also takes out of the group what must not stay in it. Loop thread only.
// Nothing of it must survive a restart: it is read again.
class GroupWatch {
 public:
  using Done = std::function<void(Result<void>)>;

  // Of `pool` only where it is counts here: project, zone and group.
  GroupWatch(ComputeApi& api, GcpNames names, GcpPool pool);

  // Sees to it that the view is of now, or of a moment ago. Never answers from inside.
  void Look(Done done);
  // The same with a look that begins after this call.
  void LookAnew(Done done);
  // Takes instances out of the group, which deletes them, in as many calls as that takes; answers
  // when Google has taken it on. Those that are not in it are passed over.
  void TakeOut(std::vector<std::string> instances, TimePoint until, Done done);

  // While somebody changes the group, looks are good for a shorter time.
  void Begin() { ++busy_; }
  void End() { --busy_; }

  const GroupView& view() const { return view_; }
  const PoolMemory& memory() const { return memory_; }
  const GcpNames& names() const { return names_; }
  const GcpPool& pool() const { return pool_; }
  std::vector<ListedAt> Listed() const;

 private:
  bool IsFresh() const;
  bool IsBusy() const;
  void Start();
  void ReadManaged();
  void ReadInstances();
  void ReadHistory();
  void Understand(const std::vector<GcpOperation>& history);
  void Finish(const Result<void>& result);
  ComputeAsk Ask(const std::string& path, std::string query) const;

  // Constant after construction.
  ComputeApi& api_;
  const GcpNames names_;
  const GcpPool pool_;

  // Loop thread only.
  GroupView view_;
  GroupView reading_;
  PoolMemory memory_;
  TimePoint seen_{};  // by the wall clock; zero: never
  int busy_ = 0;
  bool looking_ = false;
  bool taking_out_ = false;
  std::vector<Done> waiting_;       // for the look that is under way
  std::vector<Done> waiting_anew_;  // for the one after it
};

}  // namespace tidemill
