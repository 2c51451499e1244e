// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/zstd_stream.h"
#include "cli/stores.h"

// Items from an object store. One thread; what is read runs the loop of `stores`, which outlives
// all of it.
namespace tidemill::cli {

struct ListState {
  std::int64_t seen = 0;
  std::int64_t matched = 0;
  std::int64_t took_ms = 0;
  bool ended = false;
};

struct ListedItems {
  ByteRead read;  // a URL a line, in the order of bytes
  std::shared_ptr<const ListState> state;
};

// The objects whose URLs match the pattern; see Glob. Only what is below the pattern's beginning,
// up to its first wild card, is listed. `progress` is called a few times a second while it is. A
// pattern that nothing matches is kNotFound.
Result<ListedItems> ListStore(Stores& stores, const std::string& pattern,
                              std::function<void(const ListState&)> progress);

// The bytes of one object. kConflict: it changed meanwhile.
Result<ByteRead> ReadStoreObject(Stores& stores, const std::string& url);

}  // namespace tidemill::cli
