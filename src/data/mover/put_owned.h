// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "model/data.h"
#include "objects/object_store.h"

namespace tidemill {

struct PutOwned {
  std::string key = {};
  ObjectBody body = {};
  std::string content_type = "application/octet-stream";
  OutputOwner owner = {};
  OutputExists exists = OutputExists::kFail;
};

// Stores an object for an item, so that of all its attempts one counts: the first of the newest
// round. OK also if an attempt of this round, or of a later one, has stored it before. kConflict:
// it is somebody else's, and `exists` is kFail.
void Put(ObjectStore& store, PutOwned put, std::function<void(Result<void>)> done);

}  // namespace tidemill
