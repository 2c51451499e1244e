// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/group_memory.h"

#include <algorithm>

namespace tidemill {
namespace {

constexpr Duration kEndedListed = std::chrono::hours(1);
// Lists of EC2 may be late: one that is not in them for longer is gone.
constexpr Duration kMissed = std::chrono::minutes(1);

}  // namespace

void GroupMemory::Note(const AwsInstance& instance, TimePoint now) {
  const auto [place, is_new] = seen_.try_emplace(instance.name);
  Seen& seen = place->second;
  if (seen.ended) return;
  const bool has_ended = instance.state == AwsInstance::State::kEnded;
  // Of two with one name, the first by id; but an end is for all.
  if (!is_new && seen.id != instance.id && seen.last == now && !has_ended) return;
  seen.id = instance.id;
  seen.since = instance.since;
  seen.last = now;
  if (has_ended) seen.ended = std::max(std::min(instance.ended.value_or(now), now), seen.since);
}

std::vector<ListedAt> GroupMemory::See(const AwsView& view, TimePoint now) {
  for (const AwsInstance& each : view.instances) {
    if (!each.name.empty()) Note(each, now);
  }
  std::vector<ListedAt> listed;
  for (auto& [name, seen] : seen_) {
    if (!seen.ended && now - seen.last > kMissed) seen.ended = std::max(seen.last, seen.since);
    listed.push_back({name, seen.since, seen.ended, seen.id});
  }
  const auto is_old = [now](const auto& ended) { return ended && now - *ended > kEndedListed; };
  std::erase_if(seen_, [&](const auto& each) { return is_old(each.second.ended); });
  std::erase_if(listed, [&](const ListedAt& each) { return is_old(each.ended); });
  return listed;
}

std::set<std::string> GroupMemory::Ended() const {
  std::set<std::string> names;
  for (const auto& [name, seen] : seen_) {
    if (seen.ended) names.insert(name);
  }
  return names;
}

}  // namespace tidemill
