// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/context.h"
#include "model/item_page.h"

namespace tidemill::cli {

struct ItemsFlags {
  std::string job;
  std::string state;  // empty: any
  std::int64_t limit = 50;
};
// tidemill items
int ListItems(const Context& context, const ItemsFlags& flags);

// One item with its newest outcome; nothing if the job has no such item.
Result<std::optional<ListedItem>> FindItem(Client& client, const std::string& job,
                                           std::int64_t number);

// How its last attempt ended: "exit 1", "signal 9", "timeout", "machine lost"; its state if none is
// known. "waiting (exit 1)" if it is to be tried again.
std::string CauseText(const ListedItem& item);

}  // namespace tidemill::cli
