// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/standing_store.h"

namespace tidemill {

struct ArrivingItem {
  std::string text;
  std::string once = {};  // empty: it is added whenever it is said
};

// Items for a job that runs, as a person or a watcher sends them.
struct ArrivingItems {
  std::string key = {};                    // of a list; empty: each copy of the call adds
  std::string text = {};                   // a list, an item a line;
  std::vector<ArrivingItem> entries = {};  // or these
};

// As the store takes them. Borrows the entries. kInvalid: a line cannot be an item.
Result<NewItems> MakeItems(const ArrivingItems& items);

}  // namespace tidemill
