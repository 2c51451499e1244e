// SPDX-License-Identifier: Apache-2.0
#include "objects/s3_call.h"

#include <algorithm>
#include <charconv>

#include "cloud/aws_profile.h"
#include "cloud/xml.h"

namespace tidemill {
namespace {

constexpr std::string_view kS3MarksHeader = "x-amz-meta-";

std::optional<std::int64_t> NumberOf(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || number < 0) return std::nullopt;
  return number;
}

// The last number of "bytes 0-9/100" or "bytes */100".
std::optional<std::int64_t> TotalOf(std::string_view content_range) {
  const std::size_t slash = content_range.rfind('/');
  if (slash == content_range.npos) return std::nullopt;
  return NumberOf(content_range.substr(slash + 1));
}

bool IsBucketForHost(std::string_view bucket) {
  return std::all_of(bucket.begin(), bucket.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

Code CodeOf(int status, std::string_view code) {
  if (status == 404) return Code::kNotFound;
  if (status == 412) return Code::kConflict;
  if (status == 401) return Code::kNobody;
  if (status == 403 || code == "ExpiredToken" || code == "InvalidToken") return Code::kForbidden;
  if (status == 507 || code == "QuotaExceeded") return Code::kExhausted;
  return Code::kInvalid;
}

bool MayPass(int status, std::string_view code) {
  // 409: another one is being put under the same key this very moment.
  return status == 429 || (status >= 500 && status != 501 && status != 507) ||
         code == "RequestTimeout" || code == "SlowDown" || code == "ConditionalRequestConflict" ||
         code == "OperationAborted";
}

std::string_view WordsFor(int status) {
  switch (status) {
    case 301:
    case 307:
      return "the bucket is in another region";
    case 403:
      return "these credentials may not";
    case 404:
      return "there is no such object or bucket";
    case 412:
      return "a condition does not hold";
    default:
      return "";
  }
}

}  // namespace

S3Target TargetOf(const S3Place& place, std::string_view key) {
  S3Target target;
  const std::string path = "/" + std::string(key);
  if (place.endpoint) return {*place.endpoint, "/" + place.bucket + path};
  const std::string host = "s3." + place.region + "." + AwsDomain(place.region);
  const auto origin = [](std::string name) {
    return Origin{.host = std::move(name), .port = 443, .tls = true};
  };
  // A bucket with dots has no certificate under AWS's name.
  if (!IsBucketForHost(place.bucket)) return {origin(host), "/" + place.bucket + path};
  return {origin(place.bucket + "." + host), path};
}

std::optional<std::string> RegionTold(const HttpResponse& answer) {
  if (answer.status != 301 && answer.status != 307 && answer.status != 400) return std::nullopt;
  std::string region;
  if (const auto* field = FindField(answer.headers, "x-amz-bucket-region")) {
    region = *field;
  } else if (const auto root = ParseXml(answer.body)) {
    region = root->At("Region");
  }
  // It becomes part of a host's name.
  if (!IsAwsRegion(region)) return std::nullopt;
  return region;
}

Judgement JudgeS3(const HttpResponse& answer) {
  using What = Judgement::What;
  if (answer.status == 200 || answer.status == 204 || answer.status == 206) return {};
  const AwsXmlError told = ParseAwsXmlError(answer.body);
  std::string reason = told.Text();
  if (reason.empty()) reason = WordsFor(answer.status);
  reason =
      "the store answers " + std::to_string(answer.status) + (reason.empty() ? "" : ", " + reason);
  if (MayPass(answer.status, told.code)) return {What::kAgain, {Code::kUnavailable, reason}};
  return {What::kFail, {CodeOf(answer.status, told.code), reason}};
}

Result<ObjectInfo> InfoOf(std::string_view key, const HttpResponse& answer,
                          std::string_view marks_prefix) {
  ObjectInfo info{.key = std::string(key)};
  std::optional<std::int64_t> size;
  if (const auto* range = FindField(answer.headers, "Content-Range")) {
    size = TotalOf(*range);
  } else if (const auto* length = FindField(answer.headers, "Content-Length")) {
    size = NumberOf(*length);
  }
  if (!size) return Fail(Code::kInvalid, "the store does not say how long the object is");
  info.size_bytes = *size;
  if (const auto* tag = FindField(answer.headers, "ETag")) info.tag = *tag;
  for (const auto& [name, value] : answer.headers) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (lower.starts_with(marks_prefix)) info.marks[lower.substr(marks_prefix.size())] = value;
  }
  return info;
}

HttpFields ListQuery(const ListOptions& options) {
  HttpFields query{{"list-type", "2"}, {"max-keys", std::to_string(options.most)}};
  if (!options.prefix.empty()) query.emplace_back("prefix", options.prefix);
  if (!options.delimiter.empty()) query.emplace_back("delimiter", options.delimiter);
  if (!options.after.empty()) query.emplace_back("start-after", options.after);
  if (!options.next.empty()) query.emplace_back("continuation-token", options.next);
  return query;
}

Result<ListPage> ParseS3List(std::string_view body) {
  TIDEMILL_TRY(const XmlElement root, ParseXml(body));
  if (root.name != "ListBucketResult") return Fail(Code::kInvalid, "the answer is no list");
  ListPage page;
  for (const XmlElement& child : root.children) {
    if (child.name == "CommonPrefixes") page.prefixes.push_back(child.At("Prefix"));
    if (child.name != "Contents") continue;
    const auto size = NumberOf(child.At("Size"));
    if (!size) return Fail(Code::kInvalid, "an object of the list has no size");
    page.objects.push_back({.key = child.At("Key"), .size_bytes = *size, .tag = child.At("ETag")});
  }
  if (root.At("IsTruncated") != "true") return page;
  page.next = root.At("NextContinuationToken");
  if (page.next.empty()) return Fail(Code::kInvalid, "the list does not say how it goes on");
  return page;
}

void AppendConditions(const PutOptions& options, HttpFields& headers) {
  if (options.if_absent) headers.emplace_back("If-None-Match", "*");
  if (!options.if_tag.empty()) headers.emplace_back("If-Match", options.if_tag);
}

HttpFields PutHeaders(const PutOptions& options) {
  HttpFields headers{{"Content-Type", options.content_type}};
  for (const auto& [name, value] : options.marks) {
    headers.emplace_back(std::string(kS3MarksHeader) + name, value);
  }
  return headers;
}

Result<std::string> ParseUploadId(std::string_view body) {
  TIDEMILL_TRY(const XmlElement root, ParseXml(body));
  std::string id = root.At("UploadId");
  if (id.empty()) return Fail(Code::kInvalid, "the store gave no UploadId");
  return id;
}

std::string FormatComplete(const std::vector<std::string>& tags) {
  std::string xml = "<CompleteMultipartUpload>";
  for (std::size_t i = 0; i < tags.size(); ++i) {
    xml += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" +
           EscapeXml(tags[i]) + "</ETag></Part>";
  }
  return xml + "</CompleteMultipartUpload>";
}

std::string RangeField(std::int64_t offset, std::int64_t size) {
  return "bytes=" + std::to_string(offset) + "-" + std::to_string(offset + size - 1);
}

}  // namespace tidemill
