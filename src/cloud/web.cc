// SPDX-License-Identifier: Apache-2.0
#include "cloud/web.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

namespace tidemill {
namespace {

// Servers whose connections are kept: a cloud's services, and some buckets with hosts of their own.
constexpr std::size_t kServersMost = 64;

bool MayPass(const Result<HttpResponse>& got) {
  if (!got) return got.error().code == Code::kUnavailable || got.error().code == Code::kUnknown;
  return got->status == 429 || got->status >= 500;
}

}  // namespace

Result<WebUrl> ParseWebUrl(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return Fail(Code::kInvalid, "it does not begin with https://");
  const std::size_t path = std::min(url.find('/', scheme + 3), url.size());
  TIDEMILL_TRY(Origin origin, ParseUrl(url.substr(0, path)));
  const std::string_view target = url.substr(path);
  const auto is_encoded = [](char c) { return c > ' ' && c < 127 && c != '#'; };
  if (!std::all_of(target.begin(), target.end(), is_encoded)) {
    return Fail(Code::kInvalid, "its path is not encoded");
  }
  return WebUrl{std::move(origin), target.empty() ? "/" : std::string(target)};
}

bool IsNear(std::string_view host) {
  const std::string text(host);
  if (text == "localhost" || text == "metadata.google.internal") return true;
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) {
    const std::uint32_t address = ntohl(four.s_addr);
    constexpr std::uint32_t kMetadata = 0xA9FEA9FE;    // 169.254.169.254
    constexpr std::uint32_t kContainer = 0xA9FEAA02;   // 169.254.170.2
    constexpr std::uint32_t kKubernetes = 0xA9FEAA17;  // 169.254.170.23
    return address >> 24 == 127 || address == kMetadata || address == kContainer ||
           address == kKubernetes;
  }
  if (inet_pton(AF_INET6, text.c_str(), &six) != 1) return false;
  const auto is = [&six](const char* address) {
    in6_addr other{};
    inet_pton(AF_INET6, address, &other);
    return std::equal(std::begin(six.s6_addr), std::end(six.s6_addr), std::begin(other.s6_addr));
  };
  return is("::1") || is("fd00:ec2::254") || is("fd00:ec2::23");
}

struct Web::Server {
  Server(AsioLoop& loop, const Origin& origin, const HttpClientOptions& options)
      : client(loop, origin, options) {}
  HttpClient client;
  int under_way = 0;
};

struct Web::Trying {
  Origin origin;
  HttpCall call;
  WebTries left;
  Done done;
};

Web::Web(AsioLoop& loop, HttpClientOptions options) : loop_(loop), options_(std::move(options)) {}
Web::~Web() = default;

Web::Server& Web::ServerOf(const Origin& origin) {
  const std::string key = (origin.tls ? "https://" : "http://") + Authority(origin);
  if (const auto found = servers_.find(key); found != servers_.end()) return *found->second;
  if (servers_.size() >= kServersMost) {
    std::erase_if(servers_, [](const auto& each) { return each.second->under_way == 0; });
  }
  return *(servers_[key] = std::make_unique<Server>(loop_, origin, options_));
}

void Web::Send(const Origin& origin, HttpCall call, WebTries tries, Done done) {
  Try(std::make_shared<Trying>(Trying{origin, std::move(call), tries, std::move(done)}));
}

void Web::Try(std::shared_ptr<Trying> trying) {
  Server& server = ServerOf(trying->origin);
  ++server.under_way;
  const bool is_last = --trying->left.most <= 0;
  HttpCall call = is_last ? std::move(trying->call) : trying->call;
  // A server is not removed while a call to it is under way.
  server.client.Send(std::move(call), [this, &server, is_last, trying](Result<HttpResponse> got) {
    --server.under_way;
    if (is_last || !MayPass(got)) return trying->done(std::move(got));
    loop_.After(trying->left.wait, [this, alive = std::weak_ptr<char>(alive_), trying] {
      if (!alive.expired()) Try(trying);
    });
    trying->left.wait *= 2;
  });
}

}  // namespace tidemill
