// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "cloud/aws_credentials.h"
#include "cloud/google_tokens.h"
#include "cloud/world.h"
#include "net/asio_loop.h"
#include "objects/object_store.h"

namespace tidemill {

// Opens the stores that URLs name, one for each bucket, and keeps them. Loop thread only. Nothing
// survives a restart.
class ObjectStores {
 public:
  // All outlive it.
  struct Shared {
    AsioLoop& loop;
    Worker& worker;  // for files
    Random& random;
    const CloudWorld& world;
  };
  // More are kInvalid: a job names a few buckets.
  static constexpr std::size_t kStoresMost = 256;

  explicit ObjectStores(const Shared& shared);

  struct Place {
    ObjectStore* store = nullptr;  // never null; lives as long as this
    std::string key = {};          // may be empty, or end with a slash: then it is a prefix
  };
  // A file's store is the whole disk. kInvalid: the URL, an endpoint or AWS's shared files are
  // wrong.
  Result<Place> Find(std::string_view url);

 private:
  Result<std::unique_ptr<ObjectStore>> Open(const ObjectUrl& url);

  const Shared shared_;
  AwsCredentials aws_;
  GoogleTokens google_;
  std::map<std::pair<ObjectUrl::Kind, std::string>, std::unique_ptr<ObjectStore>> stores_;
};

}  // namespace tidemill
