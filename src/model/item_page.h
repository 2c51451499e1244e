// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/chunk.h"
#include "model/outcome.h"

namespace tidemill {

// Where a page of a job's items begins.
struct ItemPlace {
  std::int32_t chunk = 0;
  int offset = 0;
  bool operator==(const ItemPlace&) const = default;
};

struct ListedItem {
  std::int64_t item = 0;
  ItemState state = ItemState::kWaiting;
  std::string text;  // empty for items of a bare range
  // If outcomes were asked for: how many attempts are recorded, and the newest of them.
  std::int64_t attempts = 0;
  std::optional<Outcome> outcome = {};
};

struct ItemPage {
  std::vector<ListedItem> items;
  std::optional<ItemPlace> next;  // nothing after the last page
};

}  // namespace tidemill
