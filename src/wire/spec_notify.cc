// SPDX-License-Identifier: Apache-2.0
#include "wire/spec_notify.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/limits.h"
#include "wire/nearest.h"

namespace tidemill::json {
namespace {

Result<JobEvent> EventAt(const Value& value, const Path& path) {
  if (!value.is_string()) return Wrong(path, "must be a string");
  const std::string& name = value.get_ref<const std::string&>();
  if (const auto event = ParseJobEvent(name)) return *event;
  std::vector<std::string_view> known;
  for (const JobEvent event : kJobEvents) known.push_back(JobEventName(event));
  const std::string shown = Quoted(std::string_view(name).substr(0, limits::kNameBytes));
  return Wrong(path, "there is no event " + shown + "; " + HintFor(name, known));
}

Result<std::vector<JobEvent>> ReadEvents(const Fields& target) {
  TIDEMILL_TRY(const Value* array, target.Array("on", kJobEvents.size()));
  if (array == nullptr) return std::vector<JobEvent>(kJobEvents.begin(), kJobEvents.end());
  const Path in_array = target.In("on");
  if (array->empty()) return Wrong(in_array, "must not be empty; leave it away for all events");
  std::vector<JobEvent> events;
  for (const Value& value : *array) {
    const Path path{&in_array, {}, events.size()};
    TIDEMILL_TRY(const JobEvent event, EventAt(value, path));
    if (std::find(events.begin(), events.end(), event) != events.end()) {
      return Wrong(path, "is named before; name it once");
    }
    events.push_back(event);
  }
  return events;
}

Result<NotifyTarget> ReadTarget(const Fields& target) {
  TIDEMILL_TRY_VOID(target.Only({"url", "on", "secret"}));
  NotifyTarget read;
  TIDEMILL_TRY(read.url, target.Text("url", {.most_bytes = limits::kUrlBytes}));
  if (const auto url = ParseNotifyUrl(read.url); !url) {
    return Wrong(target.In("url"), url.error().reason);
  }
  TIDEMILL_TRY(read.on, ReadEvents(target));
  if (target.Find("secret") == nullptr) return read;
  TIDEMILL_TRY(read.secret, target.Text("secret", {.most_bytes = limits::kNameBytes}));
  if (!IsName(read.secret)) {
    return Wrong(target.In("secret"),
                 "must be letters, digits, '.', '_' and '-', and begin with a letter or digit");
  }
  return read;
}

}  // namespace

Result<std::vector<NotifyTarget>> ReadNotify(const Fields& spec) {
  std::vector<NotifyTarget> targets;
  TIDEMILL_TRY_VOID(
      ReadEach(spec, "notify", kNotifyTargets, [&](const Fields& one) -> Result<void> {
        TIDEMILL_TRY(NotifyTarget target, ReadTarget(one));
        targets.push_back(std::move(target));
        return {};
      }));
  return targets;
}

}  // namespace tidemill::json
