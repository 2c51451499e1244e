// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/group_answers.h"

#include <algorithm>
#include <charconv>

#include "wire/cloud_json.h"

namespace tidemill {
namespace {

using State = AwsInstance::State;
using Place = AwsInstance::Place;

// As long as a line for a person may be.
constexpr std::size_t kWordsBytes = 300;

const std::vector<XmlElement>& ChildrenOf(const XmlElement* element) {
  static const std::vector<XmlElement> kNone;
  return element == nullptr ? kNone : element->children;
}

std::int64_t NumberOf(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Of a list of tags; the names of its fields differ from service to service.
std::string TagOf(const XmlElement* tags, std::string_view key, const char* const (&fields)[2]) {
  for (const XmlElement& each : ChildrenOf(tags)) {
    if (each.At(fields[0]) == key) return each.At(fields[1]);
  }
  return "";
}

State StateOf(std::string_view name) {
  if (name == "pending" || name == "running") return State::kThere;
  if (name == "stopping" || name == "stopped") return State::kStopped;
  if (name == "shutting-down") return State::kEnding;
  return name == "terminated" ? State::kEnded : State::kUnknown;
}

Place PlaceOf(std::string_view lifecycle) {
  const bool counts = lifecycle.starts_with("Pending") || lifecycle == "InService";
  return counts ? Place::kMember : Place::kLeaving;
}

AwsInstance ReadInstance(const XmlElement& item) {
  constexpr const char* kFields[2] = {"key", "value"};
  AwsInstance instance{.id = item.At("instanceId"),
                       .name = TagOf(item.Find("tagSet"), kMachineTag, kFields),
                       .state = StateOf(item.At("instanceState/name"))};
  if (const auto since_ms = ParseCloudTime(item.At("launchTime"))) {
    instance.since = TimePoint(std::chrono::milliseconds(*since_ms));
  }
  if (instance.state == State::kEnded) instance.ended = EndOf(item.At("reason"));
  return instance;
}

void AddMembers(const XmlElement& group, std::map<std::string, AwsInstance>& by_id) {
  for (const XmlElement& member : ChildrenOf(group.Find("Instances"))) {
    const std::string id = member.At("InstanceId");
    const auto [place, is_new] = by_id.try_emplace(id);
    AwsInstance& instance = place->second;
    if (is_new) instance = {.id = id, .state = State::kUnknown};
    instance.place = PlaceOf(member.At("LifecycleState"));
    instance.unhealthy = member.At("HealthStatus") == "Unhealthy";
  }
}

}  // namespace

std::optional<TimePoint> EndOf(std::string_view reason) {
  constexpr std::size_t kTimeBytes = 19;  // 2026-05-01 12:03:44
  const std::size_t open = reason.find('(');
  if (open == reason.npos || reason.size() < open + 1 + kTimeBytes) return std::nullopt;
  std::string text(reason.substr(open + 1, kTimeBytes));
  std::replace(text.begin(), text.end(), ' ', 'T');
  const auto ms = ParseCloudTime(text + "Z");
  if (!ms) return std::nullopt;
  return TimePoint(std::chrono::milliseconds(*ms));
}

AwsView ReadView(const AwsGroup& group, const XmlElement& groups,
                 const std::vector<XmlElement>& instances) {
  std::map<std::string, AwsInstance> by_id;
  for (const XmlElement& page : instances) {
    for (const XmlElement& reservation : ChildrenOf(page.Find("reservationSet"))) {
      for (const XmlElement& item : ChildrenOf(reservation.Find("instancesSet"))) {
        AwsInstance instance = ReadInstance(item);
        by_id[instance.id] = std::move(instance);
      }
    }
  }
  AwsView view;
  const XmlElement* const result = groups.Find("DescribeAutoScalingGroupsResult");
  const XmlElement* const list = result == nullptr ? nullptr : result->Find("AutoScalingGroups");
  for (const XmlElement& each : ChildrenOf(list)) {
    if (each.At("AutoScalingGroupName") != group.name) continue;
    constexpr const char* kFields[2] = {"Key", "Value"};
    view.exists = true;
    view.ours = TagOf(each.Find("Tags"), kProjectTag, kFields) == group.project &&
                TagOf(each.Find("Tags"), kPoolTag, kFields) == group.pool;
    view.max = NumberOf(each.At("MaxSize"));
    view.target = NumberOf(each.At("DesiredCapacity"));
    AddMembers(each, by_id);
  }
  for (auto& [id, instance] : by_id) view.instances.push_back(std::move(instance));
  return view;
}

std::vector<AwsActivity> ReadActivities(const XmlElement& answer) {
  std::vector<AwsActivity> activities;
  const XmlElement* const result = answer.Find("DescribeScalingActivitiesResult");
  for (const XmlElement& each :
       ChildrenOf(result == nullptr ? nullptr : result->Find("Activities"))) {
    const std::string status = each.At("StatusCode");
    AwsActivity activity{.id = each.At("ActivityId"),
                         .failed = status == "Failed",
                         .words = each.At("StatusMessage").substr(0, kWordsBytes)};
    activity.under_way = !activity.failed && status != "Successful" && status != "Cancelled";
    activities.push_back(std::move(activity));
  }
  return activities;
}

std::map<std::string, std::string> ReadImages(const XmlElement& answer) {
  std::map<std::string, std::string> roots;
  for (const XmlElement& each : ChildrenOf(answer.Find("imagesSet"))) {
    roots[each.At("imageId")] = each.At("rootDeviceName");
  }
  return roots;
}

AwsTemplateVersion ReadTemplate(const XmlElement& answer) {
  for (const XmlElement& each : ChildrenOf(answer.Find("launchTemplateVersionSet"))) {
    return {each.At("versionNumber"), each.At("versionDescription")};
  }
  return {};
}

std::vector<std::string> ReadTemplateIds(const std::vector<XmlElement>& pages) {
  std::vector<std::string> ids;
  for (const XmlElement& page : pages) {
    for (const XmlElement& each : ChildrenOf(page.Find("launchTemplates"))) {
      ids.push_back(each.At("launchTemplateId"));
    }
  }
  return ids;
}

}  // namespace tidemill
