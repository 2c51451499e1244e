// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "net/http.h"

namespace tidemill {

// How AWS and the stores that speak its language know whose a request is: Signature Version 4.
// Pure.

struct AwsKeys {
  std::string id = {};
  std::string secret = {};
  std::string token = {};  // of keys that last for some hours; else empty
  bool operator==(const AwsKeys&) const = default;
};

// What a signature is good for, beside its day.
struct AwsScope {
  std::string region = {};
  std::string service = {};  // "s3" has rules of its own: its paths are signed as they are
};

struct AwsRequest {
  std::string method = "GET";
  std::string host = {};     // as the Host field has it; see Authority
  std::string path = "/";    // decoded
  HttpFields query = {};     // decoded
  HttpFields headers = {};   // all of them are signed, but for those that a proxy may change
  std::string payload = {};  // its SHA-256 in hex, or kUnsignedPayload
};

// Only for S3, where TLS must then keep the body as it is.
inline constexpr char kUnsignedPayload[] = "UNSIGNED-PAYLOAD";

struct AwsSigned {
  std::string target = {};  // path and query, encoded
  HttpFields headers = {};  // those of the request, and those of the signature
};

AwsSigned SignAws(const AwsRequest& request, const AwsKeys& keys, const AwsScope& scope,
                  std::int64_t now_ms);

// The target of a request that anybody may make for so long, at most seven days. Whoever makes it
// must send the request's headers too.
std::string PresignAws(const AwsRequest& request, const AwsKeys& keys, const AwsScope& scope,
                       std::int64_t now_ms, std::chrono::seconds lasts);

// A path as it stands in a target: each byte encoded but letters, digits, "-._~" and the slashes.
std::string EncodePath(std::string_view path);

}  // namespace tidemill
