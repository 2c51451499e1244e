// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/random.h"
#include "cloud/aws_credentials.h"
#include "cloud/world.h"
#include "net/asio_loop.h"
#include "objects/object_store.h"

namespace tidemill {

struct S3Options {
  std::string bucket = {};
  // Both also by AWS_ENDPOINT_URL_S3, AWS_REGION and the like. With an endpoint the bucket stands
  // in the path, as Ceph, Garage and others have it.
  std::string endpoint = {};
  std::string region = {};
};

// What everybody who asks AWS shares. All outlive the stores.
struct S3Shared {
  AsioLoop& loop;
  Random& random;
  AwsCredentials& credentials;
  const CloudWorld& world;
};

// A bucket of S3, or of a store that speaks its language. Objects of over 16 MiB go in parts, some
// at once. See ObjectStore.
class S3Store : public ObjectStore {
 public:
  // kInvalid: an endpoint, a region or AWS's shared files are wrong.
  static Result<std::unique_ptr<S3Store>> Open(const S3Shared& shared, const S3Options& options);
  // Calls under way are dropped; parts that were uploaded stay in the store until it expires them.
  ~S3Store() override;

  void Head(const std::string& key, Done<ObjectInfo> done) override;
  void Get(const std::string& key, ObjectRange range, OnPiece on_piece,
           Done<ObjectInfo> done) override;
  void Put(const std::string& key, ObjectBody body, PutOptions options, Done<void> done) override;
  void List(ListOptions options, Done<ListPage> done) override;
  void Delete(const std::string& key, Done<void> done) override;

  // A URL by which anybody may do this to the object for so long, at most seven days.
  struct Permission {
    std::string method = "GET";
    std::string key = {};
    std::chrono::seconds lasts{3600};
  };
  void Presign(Permission permission, Done<std::string> done);

  struct Impl;  // also for the upload in parts

 private:
  explicit S3Store(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tidemill
