// SPDX-License-Identifier: Apache-2.0
#include "cli/stores.h"

namespace tidemill::cli {
namespace {

// Files of one folder are read one after the other; two hide the disk's waits.
constexpr int kFileThreads = 2;

}  // namespace

Stores::Stores(AsioLoop& loop, Random& random, CloudWorld world)
    : loop_(loop),
      world_(std::move(world)),
      files_(loop, kFileThreads),
      stores_({loop, files_, random, world_}) {}

bool IsStoreUrl(std::string_view text) {
  return text.starts_with("s3://") || text.starts_with("gs://") || text.starts_with("file://");
}

std::string StoreHint(std::string_view url, Code code) {
  const bool is_s3 = url.starts_with("s3://");
  if (url.starts_with("file://")) return "";
  switch (code) {
    case Code::kNobody:
      return is_s3 ? "Give credentials: AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                   : "Give credentials: GOOGLE_APPLICATION_CREDENTIALS with a key file";
    case Code::kForbidden:
      return is_s3 ? "Whose credentials are they?  aws sts get-caller-identity; and "
                     "AWS_PROFILE takes others"
                   : "The account of GOOGLE_APPLICATION_CREDENTIALS needs to list and read there";
    case Code::kNotFound:
      return is_s3 ? "Is the name right, and is it there?  AWS_ENDPOINT_URL_S3 is for stores that "
                     "are not AWS's"
                   : "Is the name right?";
    case Code::kUnavailable:
    case Code::kUnknown:
      // Where no credentials are set, it is the machine's metadata that did not answer.
      return is_s3 ? "Is the network up, and AWS_ENDPOINT_URL_S3 right if it is set? Credentials: "
                     "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                   : "Is the network up? Credentials: GOOGLE_APPLICATION_CREDENTIALS";
    default:
      return "";
  }
}

Exit ExitOf(Code code) {
  switch (code) {
    case Code::kNotFound:
      return kNoSuchThing;
    case Code::kNobody:
    case Code::kForbidden:
      return kNotAllowed;
    case Code::kUnavailable:
    case Code::kUnknown:
      return kNoServer;
    default:
      return kWrongUse;
  }
}

}  // namespace tidemill::cli
