// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to objects.

#include <functional>
#include <memory>
#include <string>

#include "objects/patient.h"
#include "objects/s3_call.h"
#include "objects/s3_store.h"

namespace tidemill {

// A request of S3 before it is signed. Made into a call once for each try.
struct S3Ask {
  std::string method = "GET";
  std::string key = {};
  HttpFields query = {};
  HttpFields headers = {};
  std::function<Result<std::string>()> body = {};  // null: none
};

struct S3Store::Impl {
  Impl(const S3Shared& shared, S3Place a_place);

  void Call(S3Ask ask, Done<HttpResponse> done);
  void Prepare(const S3Ask& ask, std::function<void(Result<Patient::Prepared>)> done);
  void FetchPart(const std::string& key, std::int64_t offset, std::int64_t size,
                 const std::string& tag, Done<struct ObjectPart> done);
  void Head(const std::string& key, Done<ObjectInfo> done);
  // For what is wrong before anything is asked: not from inside the call.
  void Soon(std::function<void()> call);

  AsioLoop& loop;
  AwsCredentials& credentials;
  const std::function<std::int64_t()> now_ms;
  S3Place place;  // its region may change when the store tells
  Patient patient;
  const std::shared_ptr<char> alive = std::make_shared<char>();
};

// Stores an object in parts: begins, sends the parts, some at once, and ends; what cannot be ended
// is given up.
void UploadParts(S3Store::Impl& store, const std::string& key, ObjectBody body, PutOptions options,
                 ObjectStore::Done<void> done);

}  // namespace tidemill
