// SPDX-License-Identifier: Apache-2.0
#include "registry/registries.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "net/http_fixture.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;

const std::string kDigest = "sha256:" + std::string(64, 'a');

// A registry of a few lines: what it answers is up to the test.
class RegistriesTest : public HttpFixture {
 protected:
  using Answer = std::function<HttpResponse(const HttpRequest&)>;

  void Begin(Answer answer) {
    Serve([this, answer = std::move(answer)](HttpRequest request, HttpRespond respond) {
      requests_.push_back(request);
      respond(answer(request));
    });
    options_here_.rules = {.listed = {"127.0.0.1"}, .any_public = false};
  }
  void SetUp() override { options_here_.tls = TestAuthority::Common().Trust(); }
  std::string Host() const { return "127.0.0.1:" + std::to_string(server_->port()); }

  Result<std::string> Ask(const std::string& image, std::optional<RegistryLogin> login = {}) {
    Registries registries(loop_, options_here_);
    std::optional<Result<std::string>> result;
    registries.ResolveDigest(ParseImageName(image).value(), std::move(login),
                             [&](Result<std::string> got) { result.emplace(std::move(got)); });
    RunUntil([&] { return result.has_value(); });
    EXPECT_EQ(registries.under_way(), 0u);
    return result ? *std::move(result) : Result<std::string>(Fail(Code::kInternal, "hangs"));
  }
  Code CodeOf(const std::string& image, std::optional<RegistryLogin> login = {}) {
    const auto result = Ask(image, std::move(login));
    EXPECT_FALSE(result);
    if (!result) reason_ = result.error().reason;
    return result ? Code::kInternal : result.error().code;
  }
  std::string Field(std::size_t request, const char* name) const {
    const std::string* value = FindField(requests_.at(request).headers, name);
    return value == nullptr ? "" : *value;
  }

  static HttpResponse Found(const std::string& digest) {
    return {.headers = {{"Docker-Content-Digest", digest}}};
  }
  static HttpResponse Wants(const std::string& challenge) {
    return {.status = 401, .headers = {{"WWW-Authenticate", challenge}}};
  }

  RegistryOptions options_here_;
  std::vector<HttpRequest> requests_;
  std::string reason_;
};

TEST_F(RegistriesTest, ATagIsResolvedByItsHeader) {
  Begin([](const HttpRequest&) { return Found(kDigest); });
  EXPECT_EQ(Ask(Host() + "/a/b:3").value(), kDigest);
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_EQ(requests_[0].path, "/v2/a/b/manifests/3");
  EXPECT_NE(Field(0, "Accept").find("oci.image.index"), std::string::npos);
  EXPECT_EQ(Field(0, "Authorization"), "");
}

TEST_F(RegistriesTest, WithoutTheHeaderTheManifestIsRead) {
  Begin([](const HttpRequest&) { return HttpResponse{.body = "manifest"}; });
  EXPECT_EQ(Ask(Host() + "/a").value(),
            "sha256:05b3abf2579a5eb66403cd78be557fd860633a1fe2103c7642030defe32c657f");
  EXPECT_EQ(requests_.size(), 2u);
}

TEST_F(RegistriesTest, ATokenIsFetchedWithTheLogin) {
  Begin([this](const HttpRequest& request) {
    if (request.path == "/token") return HttpResponse{.body = R"({"token":"t0ken"})"};
    const std::string* token = FindField(request.headers, "Authorization");
    if (token == nullptr) {
      return Wants("Bearer realm=\"http://" + Host() + "/token\",service=\"s\"");
    }
    return *token == "Bearer t0ken" ? Found(kDigest) : HttpResponse{.status = 403};
  });
  EXPECT_EQ(Ask(Host() + "/a", RegistryLogin{"me", "secret"}).value(), kDigest);
  ASSERT_EQ(requests_.size(), 3u);
  EXPECT_EQ(Field(1, "Authorization"), "Basic " + EncodeBase64("me:secret"));
  EXPECT_EQ(requests_[1].query, (HttpFields{{"service", "s"}, {"scope", "repository:a:pull"}}));
  EXPECT_EQ(Ask(Host() + "/a").value(), kDigest);
  EXPECT_EQ(Field(4, "Authorization"), "");
}

TEST_F(RegistriesTest, ALoginIsShownOnlyWhenItIsWanted) {
  Begin([](const HttpRequest& request) {
    const std::string* shown = FindField(request.headers, "Authorization");
    if (shown == nullptr) return Wants("Basic realm=\"r\"");
    return *shown == "Basic " + EncodeBase64("me:secret") ? Found(kDigest)
                                                          : Wants("Basic realm=\"r\"");
  });
  EXPECT_EQ(Ask(Host() + "/a", RegistryLogin{"me", "secret"}).value(), kDigest);
  EXPECT_EQ(Field(0, "Authorization"), "");
  EXPECT_EQ(CodeOf(Host() + "/a"), Code::kNobody);
  EXPECT_EQ(reason_, Host() + " wants a login");
  requests_.clear();
  EXPECT_EQ(CodeOf(Host() + "/a", RegistryLogin{"me", "wrong"}), Code::kNobody);
  EXPECT_EQ(reason_, Host() + " refuses this login");
  EXPECT_EQ(requests_.size(), 2u);
}

TEST_F(RegistriesTest, WhatARegistryRefusesIsSaid) {
  int status = 404;
  Begin([&status](const HttpRequest&) { return HttpResponse{.status = status}; });
  EXPECT_EQ(CodeOf(Host() + "/a"), Code::kNotFound);
  status = 403;
  EXPECT_EQ(CodeOf(Host() + "/a"), Code::kNobody);
  status = 500;
  EXPECT_EQ(CodeOf(Host() + "/a"), Code::kUnavailable);
  EXPECT_EQ(reason_, Host() + " answers with status 500");
  status = 401;
  EXPECT_EQ(CodeOf(Host() + "/a"), Code::kNobody);
}

TEST_F(RegistriesTest, NothingButADigestIsBelieved) {
  std::string digest;
  Begin([&digest](const HttpRequest&) { return Found(digest); });
  for (const char* bad : {"", "sha256:", "sha256:zz", "latest", "md5:0123"}) {
    digest = bad;
    EXPECT_EQ(CodeOf(Host() + "/a"), Code::kUnavailable) << bad;
  }
}

TEST_F(RegistriesTest, ARedirectStaysOnItsHost) {
  std::string location = "/v2/b/manifests/latest";
  Begin([&location](const HttpRequest& request) {
    if (request.path == "/v2/b/manifests/latest") return Found(kDigest);
    return HttpResponse{.status = 307, .headers = {{"Location", location}}};
  });
  EXPECT_EQ(Ask(Host() + "/a").value(), kDigest);
  location = "http://" + Host() + "/v2/b/manifests/latest";
  EXPECT_EQ(Ask(Host() + "/a").value(), kDigest);
  requests_.clear();
  const std::vector<std::string> others = {"http://127.0.0.9/latest/meta-data",
                                           "//127.0.0.1/v2/b",
                                           "https://" + Host() + "/v2/b",
                                           "http://" + Host() + ".example/v2/b",
                                           "http://" + Host() + "@example/v2/b",
                                           "http://127.0.0.1:1/v2/b",
                                           "b",
                                           ""};
  for (const std::string& elsewhere : others) {
    location = elsewhere;
    EXPECT_EQ(CodeOf(Host() + "/a"), Code::kUnavailable) << elsewhere;
  }
  EXPECT_EQ(requests_.size(), others.size());
  location = "/v2/a/manifests/latest";
  requests_.clear();
  EXPECT_EQ(CodeOf(Host() + "/a"), Code::kUnavailable);
  EXPECT_EQ(requests_.size(), 4u);
}

TEST_F(RegistriesTest, OnlyListedOrPublicOnesAreConnectedTo) {
  Begin([](const HttpRequest&) { return Found(kDigest); });
  const std::string port = ":" + std::to_string(server_->port());
  options_here_.rules = {};
  for (const char* host : {"127.0.0.1", "localhost", "2130706433", "0177.0.0.1", "0x7f.0.0.1",
                           "127.1", "127.255.255.254", "0.0.0.0"}) {
    EXPECT_EQ(CodeOf(host + port + "/a"), Code::kForbidden) << host;
  }
  options_here_.rules.any_public = false;
  EXPECT_EQ(CodeOf("busybox"), Code::kForbidden);
  EXPECT_EQ(requests_.size(), 0u);
  options_here_.rules.listed = {"localhost" + port};
  EXPECT_EQ(CodeOf(Host() + "/a"), Code::kForbidden);
  EXPECT_EQ(Ask("localhost" + port + "/a").value(), kDigest);
}

TEST_F(RegistriesTest, ARealmGoesThroughTheSameDoor) {
  std::string realm;
  Begin([&realm](const HttpRequest&) { return Wants("Bearer realm=\"" + realm + "\""); });
  options_here_.rules.any_public = true;
  for (const char* inner : {"http://127.0.0.2/token", "https://127.0.0.2/token",
                            "https://127.1/token", "https://localhost/token"}) {
    realm = inner;
    EXPECT_EQ(CodeOf(Host() + "/a", RegistryLogin{"me", "secret"}), Code::kForbidden) << inner;
  }
  realm = "nowhere";
  EXPECT_EQ(CodeOf(Host() + "/a"), Code::kUnavailable);
}

TEST_F(RegistriesTest, OneThatHangsIsLeftAtTheDeadline) {
  RawSocket listener = RawSocket::Listen();
  options_here_.rules = {.listed = {"127.0.0.1"}, .any_public = false};
  Skip({});
  Registries registries(loop_, options_here_);
  std::optional<Result<std::string>> got;
  const std::string image = "127.0.0.1:" + std::to_string(listener.port()) + "/a";
  registries.ResolveDigest(ParseImageName(image).value(), {},
                           [&](Result<std::string> result) { got = std::move(result); });
  Skip(milliseconds(4'999));
  RunWhatIsReady();
  EXPECT_FALSE(got);
  Skip(milliseconds(1));
  RunUntil([&] { return got.has_value(); });
  EXPECT_EQ(got->error().code, Code::kUnavailable);
}

TEST_F(RegistriesTest, TheDeadlineIsForAllStepsOfALookupTogether) {
  std::vector<HttpRespond> held;
  Serve([&](HttpRequest request, HttpRespond respond) {
    requests_.push_back(request);
    if (requests_.size() == 3) return held.push_back(std::move(respond));
    loop_.Skip(std::chrono::seconds(2));
    respond(request.path == "/token" ? HttpResponse{.body = R"({"token":"t"})"}
                                     : Wants("Bearer realm=\"http://" + Host() + "/token\""));
  });
  options_here_.rules = {.listed = {"127.0.0.1"}, .any_public = false};
  Skip({});
  Registries registries(loop_, options_here_);
  std::optional<Result<std::string>> got;
  registries.ResolveDigest(ParseImageName(Host() + "/a").value(), {},
                           [&](Result<std::string> result) { got = std::move(result); });
  RunUntil([&] { return held.size() == 1; });
  Skip(milliseconds(999));
  RunWhatIsReady();
  EXPECT_FALSE(got);
  Skip(milliseconds(1));
  RunUntil([&] { return got.has_value(); });
  EXPECT_EQ(got->error().code, Code::kUnavailable);
}

TEST_F(RegistriesTest, ABodyWithoutEndIsNotRead) {
  Begin([](const HttpRequest&) { return HttpResponse{.body = std::string((4 << 20) + 1, 'x')}; });
  EXPECT_EQ(CodeOf(Host() + "/a"), Code::kUnavailable);
}

TEST_F(RegistriesTest, TooManyAtOnceAreNotAsked) {
  RawSocket listener = RawSocket::Listen();
  const std::string host = "127.0.0.1:" + std::to_string(listener.port());
  options_here_.rules.listed = {"127.0.0.1"};
  options_here_.most_at_once = 3;
  Registries registries(loop_, options_here_);
  const auto image = ParseImageName(host + "/a").value();
  int ended = 0;
  for (int i = 0; i < 3; ++i) registries.ResolveDigest(image, {}, [&](auto) { ++ended; });
  std::optional<Code> code;
  registries.ResolveDigest(image, {}, [&](Result<std::string> got) { code = got.error().code; });
  EXPECT_EQ(code, Code::kExhausted);
  EXPECT_EQ(registries.under_way(), 3u);
  EXPECT_EQ(ended, 0);
}

TEST(RegistryRules, AreHostsWithOrWithoutAPort) {
  const RegistryRules rules{.listed = {"a.example", "b.example:5000"}, .any_public = false};
  EXPECT_TRUE(IsListed(rules, {.host = "a.example", .port = 1}));
  EXPECT_TRUE(IsListed(rules, {.host = "b.example", .port = 5000}));
  EXPECT_FALSE(IsListed(rules, {.host = "b.example", .port = 443}));
  EXPECT_FALSE(IsListed(rules, {.host = "c.a.example", .port = 443}));
  for (const char* good : {"a", "a:5000", "127.0.0.1", "127.0.0.1:5000", "a.example:443"}) {
    EXPECT_TRUE(CheckListed(good)) << good;
  }
  for (const char* bad : {"", "https://a", "a/b", "a:", "a:0", "a:70000", "a b", "a/"}) {
    EXPECT_FALSE(CheckListed(bad)) << bad;
  }
}

}  // namespace
}  // namespace tidemill
