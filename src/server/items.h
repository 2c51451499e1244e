// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/result.h"
#include "model/item_page.h"
#include "store/store.h"

namespace tidemill {

struct ItemsRequest {
  JobId job;
  std::optional<ItemState> state;
  ItemPlace from;
  int limit = 100;
  bool outcomes = false;  // with what became of each
};

// A page of a job's items. It ends early, with a place to go on from, where it would have too much
// text, or need the outcomes of too many chunks.
Result<ItemPage> ListItems(Store& store, const ItemsRequest& request);

}  // namespace tidemill
