// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "objects/object_store.h"

namespace tidemill {

// A piece of an object, and what it is a piece of.
struct ObjectPart {
  std::string bytes = {};
  ObjectInfo info = {};  // of the whole object
};

// Fetches a range of an object in parts, some at once, and passes them on in their order. `fetch`
// is asked for one part: at most `size` bytes from `offset` on, of the content whose tag is `tag`
// if that is not empty; its answer comes later. Parts are held in memory, kAtOnce at most.
// A store that is gone answers no `fetch`, and so ends it.
struct Download {
  static constexpr std::int64_t kPartBytes = 8 << 20;
  static constexpr int kAtOnce = 4;

  struct Ask {
    std::int64_t offset = 0;
    std::int64_t size = 0;
    std::string tag = {};
  };
  using Fetch = std::function<void(Ask, ObjectStore::Done<ObjectPart>)>;

  static void Start(ObjectRange range, Fetch fetch, ObjectStore::OnPiece on_piece,
                    ObjectStore::Done<ObjectInfo> done);
};

}  // namespace tidemill
