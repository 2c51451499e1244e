// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/loop.h"
#include "provider/gcp/answers.h"
#include "provider/gcp/names.h"
#include "provider/provider.h"

namespace tidemill {

// What Google says of a group at one moment.
struct GroupView {
  std::vector<ManagedInstance> managed = {};
  std::vector<GcpInstance> instances = {};
};

// What is known of a pool's machines. Google forgets an instance as soon as it is deleted; what was
// done to it stands in its zone's operations for days, so a new process can know it again.
struct PoolMemory {
  std::map<std::string, ListedAt> machines = {};    // there, or ended within the last hour
  std::map<std::string, TimePoint> strangers = {};  // nobody ordered them; when first seen
  bool has_history = false;
};

// Ends are remembered for so long, and looked for no further back.
inline constexpr Duration kEndsKept = std::chrono::hours(1);
// Somebody who resizes a group by hand may be about to undo it.
inline constexpr Duration kStrangersMay = std::chrono::minutes(5);

// Whether operations must be read to say what has become of the machines.
bool NeedsHistory(const PoolMemory& memory, const GcpNames& names, const GroupView& view);

struct NoticeRules {
  TimePoint now{};
  // The group is ours: what nobody ordered does not stay in it.
  bool owned = true;
};
// Brings the memory up to date. Gives the instances that must leave the group: those of machines
// that ended, as it would bill them or make them anew, and old strangers. Pure.
std::vector<std::string> Notice(PoolMemory& memory, const GcpNames& names, const GroupView& view,
                                const std::vector<GcpOperation>& history, const NoticeRules& rules);

}  // namespace tidemill
