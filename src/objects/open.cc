// SPDX-License-Identifier: Apache-2.0
#include "objects/open.h"

#include <utility>

#include "objects/file_store.h"
#include "objects/gcs_store.h"
#include "objects/s3_store.h"

namespace tidemill {

ObjectStores::ObjectStores(const Shared& shared)
    : shared_(shared), aws_(shared.loop, shared.world), google_(shared.loop, shared.world) {}

Result<ObjectStores::Place> ObjectStores::Find(std::string_view url) {
  TIDEMILL_TRY(ObjectUrl parsed, ParseObjectUrl(url));
  const auto name = std::make_pair(parsed.kind, parsed.bucket);
  auto found = stores_.find(name);
  if (found == stores_.end()) {
    if (stores_.size() >= kStoresMost) return Fail(Code::kInvalid, "too many buckets");
    TIDEMILL_TRY(std::unique_ptr<ObjectStore> store, Open(parsed));
    found = stores_.emplace(name, std::move(store)).first;
  }
  return Place{found->second.get(), std::move(parsed.key)};
}

Result<std::unique_ptr<ObjectStore>> ObjectStores::Open(const ObjectUrl& url) {
  switch (url.kind) {
    case ObjectUrl::Kind::kS3: {
      TIDEMILL_TRY(auto store, S3Store::Open({shared_.loop, shared_.random, aws_, shared_.world},
                                             {.bucket = url.bucket}));
      return std::unique_ptr<ObjectStore>(std::move(store));
    }
    case ObjectUrl::Kind::kGcs: {
      TIDEMILL_TRY(auto store,
                   GcsStore::Open({shared_.loop, shared_.random, google_, shared_.world},
                                  {.bucket = url.bucket}));
      return std::unique_ptr<ObjectStore>(std::move(store));
    }
    case ObjectUrl::Kind::kFile:
      break;
  }
  return std::unique_ptr<ObjectStore>(
      std::make_unique<FileStore>(shared_.loop, shared_.worker, "/"));
}

}  // namespace tidemill
