// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/random.h"
#include "cloud/google_tokens.h"
#include "cloud/world.h"
#include "net/asio_loop.h"
#include "objects/object_store.h"

namespace tidemill {

struct GcsOptions {
  std::string bucket = {};
  // Also by STORAGE_EMULATOR_HOST, as Google's own programs have it: then nothing is asked for a
  // token, since whoever plays the store does not know any.
  std::string endpoint = {};
};

// What everybody who asks Google shares. All outlive the stores.
struct GcsShared {
  AsioLoop& loop;
  Random& random;
  GoogleTokens& tokens;
  const CloudWorld& world;
};

// A bucket of Google's object store. Objects of over 16 MiB go in parts, one after the other. See
// ObjectStore.
class GcsStore : public ObjectStore {
 public:
  // kInvalid: the endpoint is no URL.
  static Result<std::unique_ptr<GcsStore>> Open(const GcsShared& shared, const GcsOptions& options);
  ~GcsStore() override;

  void Head(const std::string& key, Done<ObjectInfo> done) override;
  void Get(const std::string& key, ObjectRange range, OnPiece on_piece,
           Done<ObjectInfo> done) override;
  void Put(const std::string& key, ObjectBody body, PutOptions options, Done<void> done) override;
  void List(ListOptions options, Done<ListPage> done) override;
  void Delete(const std::string& key, Done<void> done) override;

  struct Impl;

 private:
  explicit GcsStore(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tidemill
