// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/sigv4.h"
#include "net/http.h"
#include "objects/object_store.h"
#include "objects/patient.h"

namespace tidemill {

// What is said to S3 and its kin, and what their answers mean. Pure.

// Where a bucket is.
struct S3Place {
  std::string bucket = {};
  std::string region = "us-east-1";
  // Set: a store that is not AWS's, which has its buckets in its paths.
  std::optional<Origin> endpoint = {};
};

// The host and path of an object, or of the bucket itself if the key is empty.
struct S3Target {
  Origin origin = {};
  std::string path = {};  // decoded
};
S3Target TargetOf(const S3Place& place, std::string_view key);

// The region in which the bucket is, if the answer says that it is not the one that was asked.
std::optional<std::string> RegionTold(const HttpResponse& answer);

// Everything but a region that is told.
Judgement JudgeS3(const HttpResponse& answer);

// Of the answer to HEAD or to GET of a range. kInvalid: it does not say how long the object is.
Result<ObjectInfo> InfoOf(std::string_view key, const HttpResponse& answer,
                          std::string_view marks_prefix);

HttpFields ListQuery(const ListOptions& options);
Result<ListPage> ParseS3List(std::string_view body);

HttpFields PutHeaders(const PutOptions& options);
// What must hold for it to be stored; goes with the call that does it.
void AppendConditions(const PutOptions& options, HttpFields& headers);
Result<std::string> ParseUploadId(std::string_view body);
// The tags of the parts in their order.
std::string FormatComplete(const std::vector<std::string>& tags);

// "bytes=0-9".
std::string RangeField(std::int64_t offset, std::int64_t size);

}  // namespace tidemill
