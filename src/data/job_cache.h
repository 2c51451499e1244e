// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/data.h"

namespace tidemill {

// What every item of some job needs, fetched once for this machine and read by all. Loop thread
// only. It survives a restart.
class JobCache {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;
  // What a job asked for. While somebody holds it, it stays as it is.
  struct View {
    std::map<std::string, std::string> paths = {};  // by name: a file, or a folder
    std::string folder = {};                        // has all of them, by their names, as links
    std::vector<std::shared_ptr<const std::string>> entries = {};
  };
  using Held = std::shared_ptr<const View>;

  virtual ~JobCache() = default;
  // What the stores have at this moment; fetched only if it is not here. Nothing is shared between
  // projects. `done` comes once, never from inside the call, and not after this is destroyed.
  //   kInvalid      a URL is wrong, or it is more than this machine keeps
  //   kNotFound     there is no such object
  //   kForbidden, kNobody   this machine may not, or has no credentials
  //   kExhausted    this machine's disk is full
  //   kUnavailable, kUnknown   try again: the store is away, or others use all the room that there
  //   is
  virtual void Get(const std::string& project, std::vector<CacheUse> uses, Done<Held> done) = 0;
  // While somebody holds this, all stays that was here when the process began: containers that an
  // earlier life opened may use it.
  virtual std::shared_ptr<const void> HoldEarlier() = 0;
};

}  // namespace tidemill
