// SPDX-License-Identifier: Apache-2.0
#include "wire/session_spec_json.h"

#include "wire/json.h"

namespace tidemill {

std::string FormatSessionSpec(const SessionSpec& spec) {
  json::Value resources = {{"cpus", spec.cpus}};
  if (!spec.memory.empty()) resources["memory"] = spec.memory;
  if (!spec.devices.empty()) resources["devices"] = spec.devices;
  json::Value value = {{"name", spec.name},
                       {"image", spec.image},
                       {"entrypoint", spec.entrypoint},
                       {"labels", {{"pool", spec.pool}}},
                       {"resources", std::move(resources)},
                       {"retries", 0},
                       {"canary", 0},
                       {"timeout", spec.timeout}};
  if (!spec.queue.empty()) value["queue"] = spec.queue;
  for (const auto& [name, text] : spec.env) value["env"][name] = text;
  return value.dump();
}

}  // namespace tidemill
