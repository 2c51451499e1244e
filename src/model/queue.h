// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/price.h"

namespace tidemill {

// One without a value has no limit of that kind.
struct QueueLimits {
  std::optional<std::int64_t> machines;  // as many machines' worth of slots
  std::optional<Money> cost_an_hour;
  std::optional<std::int64_t> running;  // items
  bool operator==(const QueueLimits&) const = default;
};

// Where jobs wait. Its name is unique in its project.
struct Queue {
  std::string name;
  std::int32_t priority = 0;  // the higher is served first
  // Against other queues of its priority. 0: gets what others leave, and may starve.
  std::int32_t share = 1;
  std::vector<std::string> pools;  // in the order in which they are used; each once
  QueueLimits limits;
  bool disabled = false;
  bool operator==(const Queue&) const = default;
};

}  // namespace tidemill
