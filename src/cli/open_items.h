// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/item_source.h"
#include "cli/store_items.h"
#include "cli/upload.h"
#include "submit/path_map.h"

namespace tidemill::cli {

// Makes the stores when a list is in one.
using MakeStores = std::function<Stores&()>;

// What becomes of paths in items.
struct ItemPaths {
  PathMap map = {};              // first
  Uploader* uploader = nullptr;  // then; null: they stay
};

struct OpenedItems {
  ItemSource source;
  std::shared_ptr<const ListState> listed = {};  // null: nothing is listed
};

// What --items names: a file, "-" for standard input, the URL of an object, or a pattern of URLs.
// How the list is written is told by the end of its name: .csv, .tsv, .jsonl and .ndjson, each also
// with .gz or .zst behind it; all else is lines of text. Items have their paths as `paths` has
// them.
Result<OpenedItems> OpenItems(const std::string& where, const MakeStores& stores,
                              std::function<void(const ListState&)> progress,
                              const ItemPaths& paths = {});

}  // namespace tidemill::cli
