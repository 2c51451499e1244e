// SPDX-License-Identifier: Apache-2.0
#include "server/notify/rules.h"

#include <gtest/gtest.h>

#include "model/notify.h"

namespace tidemill {
namespace {

std::string SpecWith(const std::string& url) { return R"({"notify":[{"url":")" + url + R"("}]})"; }

// Ways to write an address that a server must not call, or a URL that is not what it seems. All of
// them are refused when the job is submitted.
constexpr const char* kHostile[] = {
    // This machine.
    "http://127.0.0.1/",
    "http://127.0.0.1:8080/v1/jobs",
    "http://127.255.255.254/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0177.0.0.1/",
    "http://0177.0.0.01/",
    "http://017700000001/",
    "http://0/",
    "http://0.0.0.0/",
    "http://0x0/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://a.localhost/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[2002:7f00:1::]/",
    // Where clouds answer who a machine is.
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.170.2/v2/credentials",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://0xa9.254.0251.254/",
    "http://169.16689662/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::a9fe:a9fe]/",
    // Private, of a provider, of many, of nobody.
    "http://10.0.0.1/",
    "http://10.1/",
    "http://167772161/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://0xc0a80001/",
    "http://192.168.257/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[fc00::1]/",
    "http://[fd12:3456::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001::1]/",
    "http://[2002:a00:1::]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[::ffff:10.0.0.1]:8443/",
    // No web servers, and URLs that mean another host than they show.
    "http://hooks.example:22/",
    "http://hooks.example:25/",
    "http://hooks.example@127.0.0.1/",
    "http://hooks.example:80@127.0.0.1/",
    "http://hooks.example%2f@127.0.0.1/",
    "http://hooks.example#@127.0.0.1/",
    "gopher://hooks.example/",
    "file:///etc/passwd",
    "unix:///run/docker.sock",
};

TEST(NotifyRules, RefuseEveryFormOfAnInnerAddress) {
  int refused = 0;
  for (const char* url : kHostile) {
    const auto checked = CheckNotify({}, SpecWith(url));
    ASSERT_FALSE(checked) << url;
    EXPECT_EQ(checked.error().code, Code::kInvalid) << url;
    ++refused;
  }
  EXPECT_GE(refused, 40);
}

TEST(NotifyRules, TakePublicAddressesAndNames) {
  for (const char* url : {"https://hooks.example/a", "https://8.8.8.8/", "http://134744072/",
                          "https://[2606:4700:4700::1111]/", "https://127.0.0.1.example/",
                          "https://localhost.example/", "http://hooks.example:8080/"}) {
    const auto checked = CheckNotify({}, SpecWith(url));
    EXPECT_TRUE(checked) << url << ": " << (checked ? "" : checked.error().reason);
  }
}

TEST(NotifyRules, TakeWhatAnOperatorAllows) {
  const NotifyRules rules{
      {ParseNetBlock("10.1.0.0/16").value(), ParseNetBlock("fd00::/8").value()}};
  EXPECT_TRUE(CheckNotify(rules, SpecWith("http://10.1.2.3:9000/")));
  EXPECT_TRUE(CheckNotify(rules, SpecWith("http://[::ffff:10.1.2.3]/")));
  EXPECT_TRUE(CheckNotify(rules, SpecWith("http://[fd00:ec2::254]/")));
  EXPECT_FALSE(CheckNotify(rules, SpecWith("http://10.2.0.1/")));
  EXPECT_FALSE(CheckNotify(rules, SpecWith("http://localhost/")));
  EXPECT_FALSE(CheckNotify(rules, SpecWith("http://10.1.2.3:22/")));
}

TEST(NotifyRules, SayWhichTargetIsWrong) {
  const auto checked =
      CheckNotify({}, R"({"notify":[{"url":"https://hooks.example/"},{"url":"http://127.1/"}]})");
  EXPECT_EQ(checked.error().reason,
            "spec.notify[1].url: 127.1 is not on the Internet, and servers call nobody else unless "
            "they are started with --notify-allow NETWORK");
}

}  // namespace
}  // namespace tidemill
