// SPDX-License-Identifier: Apache-2.0
#include "registry/challenge.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

constexpr char kHub[] =
    R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",)"
    R"(scope="repository:library/busybox:pull")";

TEST(Challenge, WhatRegistriesSayIsRead) {
  const Challenge hub{true, "https://auth.docker.io/token", "registry.docker.io"};
  EXPECT_EQ(ParseChallenge(kHub), hub);
  EXPECT_EQ(ParseChallenge(R"(bEARER  service = "registry.docker.io" ,)"
                           R"( REALM="https://auth.docker.io/token")"),
            hub);
  EXPECT_EQ(ParseChallenge(R"(Basic realm="Registry")"), Challenge{});
  EXPECT_EQ(ParseChallenge("basic"), Challenge{});
  EXPECT_EQ(ParseChallenge(R"(Bearer realm=https)"), (Challenge{true, "https", ""}));
  EXPECT_EQ(ParseChallenge(R"(Bearer realm="a\"b\\c")"), (Challenge{true, R"(a"b\c)", ""}));
}

TEST(Challenge, TheFirstWayThatIsKnownCounts) {
  const Challenge bearer{true, "https://a", ""};
  EXPECT_EQ(ParseChallenge(R"(Negotiate, Bearer realm="https://a", Basic realm="b")"), bearer);
  EXPECT_EQ(ParseChallenge(R"(Digest realm="x", nonce="y", Bearer realm="https://a")"), bearer);
  EXPECT_EQ(ParseChallenge(R"(Bearer service="no realm", Basic realm="b")"), Challenge{});
}

TEST(Challenge, WhatIsMalformedIsNothing) {
  for (const char* field : {"",
                            " ",
                            ",",
                            "=",
                            "\"",
                            "Bearer",
                            "Bearer realm",
                            "Bearer realm=",
                            "Bearer realm=\"",
                            "Bearer realm=\"a",
                            "Bearer realm=\"a\\",
                            "Bearer realm=\"\"",
                            "Bearer realm=\"a\nb\"",
                            "Bearer realm=\"a\x7f\"",
                            "Bearer realm=(",
                            "Bearer ==",
                            "Bearer \"a\"",
                            "Unknown realm=a",
                            "\xff\xfe",
                            "Bearer realm=\"a\" \"b\""}) {
    EXPECT_EQ(ParseChallenge(field), std::nullopt) << field;
  }
  EXPECT_EQ(ParseChallenge("Bearer realm=\"" + std::string(2'000, 'a') + "\""), std::nullopt);
  EXPECT_EQ(ParseChallenge("Basic realm=\"" + std::string(9'000, 'a') + "\""), std::nullopt);
  EXPECT_EQ(ParseChallenge(std::string(8'000, ',')), std::nullopt);
}

// Any text at all is for challenge_fuzz.
TEST(Challenge, ADamagedFieldIsReadAsFarAsItMakesSense) {
  const std::string hub = kHub;
  const Challenge whole = ParseChallenge(hub).value();
  EXPECT_EQ(ParseChallenge(",\t, " + hub + ", ,"), whole);
  EXPECT_EQ(ParseChallenge(hub + ",realm=later")->realm, "later");
  EXPECT_EQ(ParseChallenge("x" + hub), std::nullopt);
  EXPECT_EQ(ParseChallenge(hub.substr(0, hub.size() - 1)), std::nullopt);
  EXPECT_EQ(ParseChallenge(hub + ";"), std::nullopt);
  std::string broken = hub;
  broken.insert(broken.find("docker"), "\n");
  EXPECT_EQ(ParseChallenge(broken), std::nullopt);
}

std::string TargetOf(const std::string& realm, const std::string& service = "") {
  const auto target = TokenTargetOf({true, realm, service}, "library/busybox");
  return target ? Authority(target->origin) + " " + target->target : "kInvalid";
}

TEST(Challenge, ATokenIsAskedForWithTheRightToPull) {
  EXPECT_EQ(TargetOf("https://auth.docker.io/token", "registry.docker.io"),
            "auth.docker.io /token?service=registry.docker.io&"
            "scope=repository%3Alibrary%2Fbusybox%3Apull");
  const std::string scope = "scope=repository%3Alibrary%2Fbusybox%3Apull";
  EXPECT_EQ(TargetOf("https://a"), "a /?" + scope);
  EXPECT_EQ(TargetOf("https://a:5000?b=c"), "a:5000 /?b=c&" + scope);
  EXPECT_EQ(TargetOf("https://a/b#c"), "a /b?" + scope);
  EXPECT_EQ(TargetOf("http://127.0.0.1:5000/b"), "127.0.0.1:5000 /b?" + scope);
  EXPECT_EQ(TargetOf("https://a/b", "c&scope=all"), "a /b?service=c%26scope%3Dall&" + scope);
}

TEST(Challenge, ARealmMustBeAUrlThatNobodyElseReads) {
  for (const char* realm : {"", "a", "/a", "http://a/b", "http://169.254.169.254/latest", "ftp://a",
                            "file:///etc/passwd", "https://", "https:///b", "https://user@a/b",
                            "https://a:0/", "https://a:99999/", "https://[::1"}) {
    EXPECT_EQ(TargetOf(realm), "kInvalid") << realm;
  }
}

}  // namespace
}  // namespace tidemill
