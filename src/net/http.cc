// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace tidemill {
namespace {

constexpr std::uint16_t kPlainPort = 80;
constexpr std::uint16_t kTlsPort = 443;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = Lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z');
}

std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

bool IsThisMachine(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six) != 0;
  return SameName(host, "localhost");
}

Result<HttpFields> ParseQuery(std::string_view text) {
  HttpFields query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = PercentDecode(pair.substr(0, equals), true);
    auto value = PercentDecode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) return Fail(Code::kInvalid, "malformed escape in the query");
    query.emplace_back(*std::move(name), *std::move(value));
  }
  return query;
}

}  // namespace

const std::string* FindField(const HttpFields& fields, std::string_view name) {
  for (const auto& [field, value] : fields) {
    if (SameName(field, name)) return &value;
  }
  return nullptr;
}

bool IsSafeField(std::string_view name, std::string_view value) {
  const auto is_token = [](char c) {
    constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
    return IsAlphanumeric(c) || kSigns.find(c) != kSigns.npos;
  };
  const auto is_text = [](char c) {
    return c == '\t' || (c != 127 && static_cast<unsigned char>(c) >= 32);
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_token) &&
         std::all_of(value.begin(), value.end(), is_text);
}

Result<HttpTarget> ParseTarget(std::string_view target) {
  // Proxies send the whole URL; the host in it is no concern of ours.
  constexpr std::string_view kScheme = "http://";
  if (target.size() > kScheme.size() && SameName(target.substr(0, kScheme.size()), kScheme)) {
    target.remove_prefix(std::min(target.find_first_of("/?", kScheme.size()), target.size()));
    if (target.empty()) target = "/";
  }
  if (target.empty() || target[0] != '/') {
    return Fail(Code::kInvalid, "the request target must begin with '/'");
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  const std::string_view raw = target.substr(0, question);
  const bool has_slash = raw.find("%2f") < raw.size() || raw.find("%2F") < raw.size();
  auto path = PercentDecode(raw, false);
  if (!path) return Fail(Code::kInvalid, "malformed escape in the path");
  TIDEMILL_TRY(HttpFields query, ParseQuery(target.substr(std::min(question + 1, target.size()))));
  return HttpTarget{*std::move(path), std::move(query), has_slash};
}

std::string PercentEncode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (IsAlphanumeric(c) || kPlain.find(c) < kPlain.size()) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kHex[byte / 16];
    encoded += kHex[byte % 16];
  }
  return encoded;
}

Result<Origin> ParseUrl(std::string_view url) {
  constexpr std::string_view kPlain = "http://";
  constexpr std::string_view kTls = "https://";
  const auto fail = [](std::string why) {
    return Fail(Code::kInvalid, std::move(why) +
                                    "; a URL such as https://batch.example or "
                                    "http://127.0.0.1:8080 is needed");
  };
  Origin origin;
  origin.tls = SameName(url.substr(0, kTls.size()), kTls);
  if (!origin.tls && !SameName(url.substr(0, kPlain.size()), kPlain)) {
    return fail("it does not begin with https:// or http://");
  }
  url.remove_prefix(origin.tls ? kTls.size() : kPlain.size());
  if (url.ends_with('/')) url.remove_suffix(1);
  origin.port = origin.tls ? kTlsPort : kPlainPort;
  std::string_view host = url.substr(0, url.rfind(':'));
  if (url.starts_with('[')) {
    const std::size_t end = url.find(']');
    if (end == url.npos) return fail("a ']' is missing");
    host = url.substr(1, end - 1);
    url.remove_prefix(end + 1);
  } else {
    if (host.find(':') != host.npos) return fail("an IPv6 address needs [ and ]");
    url.remove_prefix(host.size());
  }
  if (host.empty()) return fail("the host is missing");
  const auto is_host = [](char c) {
    return IsAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == ':';
  };
  if (!std::all_of(host.begin(), host.end(), is_host)) {
    return fail("it holds more than a host and a port");
  }
  origin.host = host;
  if (url.empty()) return origin;
  const char* const end = url.data() + url.size();
  const auto [rest, error] = std::from_chars(url.data() + 1, end, origin.port);
  if (url[0] != ':' || error != std::errc{} || rest != end || origin.port == 0) {
    return fail("the port is not a number from 1 to 65535");
  }
  return origin;
}

Result<Origin> ParseSafeUrl(std::string_view url) {
  TIDEMILL_TRY(Origin origin, ParseUrl(url));
  if (origin.tls || IsThisMachine(origin.host)) return origin;
  return Fail(Code::kInvalid,
              "http:// would be read by all on the way to " + origin.host +
                  "; use https:// (tidemill-server takes --tls-cert and --tls-key)");
}

std::string Authority(const Origin& origin) {
  const bool is_ipv6 = origin.host.find(':') != std::string::npos;
  std::string authority = is_ipv6 ? "[" + origin.host + "]" : origin.host;
  if (origin.port != (origin.tls ? kTlsPort : kPlainPort))
    authority += ":" + std::to_string(origin.port);
  return authority;
}

}  // namespace tidemill
