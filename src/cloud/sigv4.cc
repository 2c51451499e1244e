// SPDX-License-Identifier: Apache-2.0
#include "cloud/sigv4.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"

namespace tidemill {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// 20260501T120344Z
std::string Stamp(std::int64_t now_ms) {
  const std::chrono::sys_time<std::chrono::milliseconds> now{std::chrono::milliseconds(now_ms)};
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{std::chrono::floor<std::chrono::seconds>(now) - day};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d%02u%02uT%02d%02d%02dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text.data();
}

std::string EncodeQuery(const HttpFields& query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.reserve(query.size());
  for (const auto& [name, value] : query) {
    pairs.emplace_back(PercentEncode(name), PercentEncode(value));
  }
  std::sort(pairs.begin(), pairs.end());
  std::string text;
  for (const auto& [name, value] : pairs) {
    if (!text.empty()) text += '&';
    text.append(name).append("=").append(value);
  }
  return text;
}

std::string Target(const AwsRequest& request, const std::string& query) {
  return EncodePath(request.path) + (query.empty() ? "" : "?" + query);
}

// Without ".", ".." and empty segments.
std::string Normalized(std::string_view path) {
  std::vector<std::string_view> kept;
  const bool ends_with_slash = path.ends_with('/');
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
    if (segment == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (!segment.empty() && segment != ".") {
      kept.push_back(segment);
    }
  }
  std::string text;
  for (const std::string_view segment : kept) text.append("/").append(segment);
  if (ends_with_slash || kept.empty()) text += '/';
  return text;
}

std::string CanonicalPath(const AwsRequest& request, const AwsScope& scope) {
  const std::string encoded = EncodePath(request.path);
  return scope.service == "s3" ? encoded : EncodePath(Normalized(encoded));
}

// Spaces around it away, and those within it one by one.
std::string Trimmed(std::string_view value) {
  std::string text;
  for (const char c : value) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space) {
      text += c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

struct CanonicalHeaders {
  std::string lines;
  std::string names;  // "host;x-amz-date"
};

CanonicalHeaders Canonical(const AwsRequest& request, const HttpFields& more) {
  constexpr std::array<std::string_view, 4> kMayChange = {"expect", "transfer-encoding",
                                                          "user-agent", "x-amzn-trace-id"};
  std::map<std::string, std::string> values{{"host", request.host}};
  for (const HttpFields* fields : {&request.headers, &more}) {
    for (const auto& [name, value] : *fields) {
      const std::string lower = Lower(name);
      if (std::find(kMayChange.begin(), kMayChange.end(), lower) != kMayChange.end()) continue;
      const auto [place, is_new] = values.try_emplace(lower, Trimmed(value));
      if (!is_new) place->second += "," + Trimmed(value);
    }
  }
  CanonicalHeaders headers;
  for (const auto& [name, value] : values) {
    headers.lines.append(name).append(":").append(value).append("\n");
    headers.names.append(headers.names.empty() ? "" : ";").append(name);
  }
  return headers;
}

struct Signing {
  const AwsRequest& request;
  const AwsKeys& keys;
  const AwsScope& scope;
  std::string stamp;

  std::string Scope() const {
    return stamp.substr(0, 8) + "/" + scope.region + "/" + scope.service + "/aws4_request";
  }

  std::string Signature(const std::string& query, const CanonicalHeaders& headers,
                        const std::string& payload) const {
    const std::string canonical = request.method + "\n" + CanonicalPath(request, scope) + "\n" +
                                  query + "\n" + headers.lines + "\n" + headers.names + "\n" +
                                  payload;
    const std::string text =
        std::string(kAlgorithm) + "\n" + stamp + "\n" + Scope() + "\n" + Hex(Sha256(canonical));
    std::string key = HmacSha256("AWS4" + keys.secret, stamp.substr(0, 8));
    for (const std::string_view part :
         {std::string_view(scope.region), std::string_view(scope.service),
          std::string_view("aws4_request")}) {
      key = HmacSha256(key, part);
    }
    return Hex(HmacSha256(key, text));
  }
};

}  // namespace

std::string EncodePath(std::string_view path) {
  std::string encoded;
  while (true) {
    const std::size_t slash = path.find('/');
    encoded += PercentEncode(path.substr(0, slash));
    if (slash == path.npos) return encoded;
    encoded += '/';
    path.remove_prefix(slash + 1);
  }
}

AwsSigned SignAws(const AwsRequest& request, const AwsKeys& keys, const AwsScope& scope,
                  std::int64_t now_ms) {
  const Signing signing{request, keys, scope, Stamp(now_ms)};
  HttpFields more{{"X-Amz-Date", signing.stamp}};
  if (!keys.token.empty()) more.emplace_back("X-Amz-Security-Token", keys.token);
  if (scope.service == "s3") more.emplace_back("X-Amz-Content-SHA256", request.payload);
  const std::string query = EncodeQuery(request.query);
  const CanonicalHeaders headers = Canonical(request, more);
  const std::string signature = signing.Signature(query, headers, request.payload);
  more.emplace_back("Authorization", std::string(kAlgorithm) + " Credential=" + keys.id + "/" +
                                         signing.Scope() + ", SignedHeaders=" + headers.names +
                                         ", Signature=" + signature);
  AwsSigned result{Target(request, query), request.headers};
  result.headers.insert(result.headers.end(), more.begin(), more.end());
  return result;
}

std::string PresignAws(const AwsRequest& request, const AwsKeys& keys, const AwsScope& scope,
                       std::int64_t now_ms, std::chrono::seconds lasts) {
  const Signing signing{request, keys, scope, Stamp(now_ms)};
  const CanonicalHeaders headers = Canonical(request, {});
  HttpFields all = request.query;
  all.emplace_back("X-Amz-Algorithm", kAlgorithm);
  all.emplace_back("X-Amz-Credential", keys.id + "/" + signing.Scope());
  all.emplace_back("X-Amz-Date", signing.stamp);
  all.emplace_back("X-Amz-Expires", std::to_string(lasts.count()));
  all.emplace_back("X-Amz-SignedHeaders", headers.names);
  if (!keys.token.empty()) all.emplace_back("X-Amz-Security-Token", keys.token);
  const std::string query = EncodeQuery(all);
  return Target(request, query) +
         "&X-Amz-Signature=" + signing.Signature(query, headers, request.payload);
}

}  // namespace tidemill
