// SPDX-License-Identifier: Apache-2.0
#include "net/public_address.h"

#include <gtest/gtest.h>

namespace tidemill {
namespace {

struct Case {
  const char* address;
  bool is_public;
};

constexpr Case kCases[] = {
    {"8.8.8.8", true},
    {"1.1.1.1", true},
    {"9.255.255.255", true},
    {"11.0.0.0", true},
    {"100.63.255.255", true},
    {"100.128.0.0", true},
    {"126.255.255.255", true},
    {"128.0.0.1", true},
    {"169.253.255.255", true},
    {"172.15.255.255", true},
    {"172.32.0.0", true},
    {"192.167.255.255", true},
    {"198.20.0.0", true},
    {"223.255.255.255", true},
    {"2606:4700::1111", true},
    {"::ffff:8.8.8.8", true},
    {"64:ff9b::808:808", true},
    // This machine, and nobody.
    {"127.0.0.1", false},
    {"127.255.255.254", false},
    {"0.0.0.0", false},
    {"0.1.2.3", false},
    {"::1", false},
    {"::", false},
    // Private, of a provider, of a link: also where clouds answer who a machine is.
    {"10.0.0.1", false},
    {"10.255.255.255", false},
    {"172.16.0.1", false},
    {"172.31.255.255", false},
    {"192.168.1.1", false},
    {"100.64.0.1", false},
    {"100.127.255.255", false},
    {"169.254.169.254", false},
    {"fd00:ec2::254", false},
    {"fc00::1", false},
    {"fe80::1", false},
    {"fe80::1%lo", false},
    {"fec0::1", false},
    // Many at once, kept, for documents, for measuring.
    {"224.0.0.1", false},
    {"239.255.255.255", false},
    {"240.0.0.1", false},
    {"255.255.255.255", false},
    {"ff02::1", false},
    {"192.0.0.8", false},
    {"192.0.2.1", false},
    {"198.18.0.1", false},
    {"198.19.255.255", false},
    {"198.51.100.1", false},
    {"203.0.113.1", false},
    {"2001:db8::1", false},
    {"2001::1", false},
    {"2002:7f00:1::", false},
    {"3fff::1", false},
    {"100::1", false},
    // IPv4 inside of IPv6.
    {"::ffff:127.0.0.1", false},
    {"::ffff:7f00:1", false},
    {"::ffff:169.254.169.254", false},
    {"::ffff:10.0.0.1", false},
    {"0:0:0:0:0:ffff:c0a8:0101", false},
    {"::127.0.0.1", false},
    {"64:ff9b::7f00:1", false},
    {"64:ff9b:1::a00:1", false},
    // No addresses in numbers as systems write them: what they mean is another's guess.
    {"2130706433", false},
    {"0177.0.0.1", false},
    {"0x7f.0.0.1", false},
    {"127.1", false},
    {"8.8.8.8 ", false},
    {"[::1]", false},
    {"localhost", false},
    {"example.com", false},
    {"", false},
};

TEST(Address, IsPublicOrNot) {
  for (const Case& each : kCases) {
    EXPECT_EQ(IsPublicAddress(each.address), each.is_public) << "'" << each.address << "'";
  }
}

TEST(Address, IsInANetworkHoweverItIsWritten) {
  const NetBlock ten = ParseNetBlock("10.0.0.0/8").value();
  EXPECT_TRUE(IsIn("10.255.1.2", ten));
  EXPECT_TRUE(IsIn("::ffff:10.1.2.3", ten));
  EXPECT_FALSE(IsIn("11.0.0.0", ten));
  EXPECT_FALSE(IsIn("::10.1.2.3", ten));
  EXPECT_FALSE(IsIn("ten", ten));
  const NetBlock inner = ParseNetBlock("fd00:1::/32").value();
  EXPECT_TRUE(IsIn("fd00:1:ffff::1", inner));
  EXPECT_FALSE(IsIn("fd00:2::1", inner));
  EXPECT_TRUE(IsIn("127.0.0.1", ParseNetBlock("127.0.0.1").value()));
  EXPECT_FALSE(IsIn("127.0.0.2", ParseNetBlock("127.0.0.1").value()));
  EXPECT_TRUE(IsIn("192.168.3.4", ParseNetBlock("0.0.0.0/0").value()));
  EXPECT_FALSE(IsIn("::1", ParseNetBlock("0.0.0.0/0").value()));
  EXPECT_TRUE(IsIn("172.31.0.1", ParseNetBlock("172.16.0.0/12").value()));
  EXPECT_FALSE(IsIn("172.32.0.1", ParseNetBlock("172.16.0.0/12").value()));
}

TEST(Address, NetworksAreReadStrictly) {
  for (const char* text :
       {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.1/8", "10/8",
        "fd00::/129", "fd00::1/8", "localhost", "10.0.0.0 /8"}) {
    EXPECT_FALSE(ParseNetBlock(text)) << "'" << text << "'";
  }
}

TEST(Address, IsReadAsSystemsReadIt) {
  for (const char* text : {"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1",
                           "0x7f.0x0.0x0.0x1", "017700000001"}) {
    EXPECT_EQ(AddressOf(text), "127.0.0.1") << text;
  }
  EXPECT_EQ(AddressOf("::1"), "::1");
  EXPECT_EQ(AddressOf("0:0:0:0:0:0:0:1"), "::1");
  EXPECT_EQ(AddressOf("fe80::1%eth0"), "fe80::1");
  EXPECT_EQ(AddressOf("localhost"), "");
  EXPECT_EQ(AddressOf("127.0.0.1.example"), "");
  EXPECT_EQ(AddressOf(""), "");
}

}  // namespace
}  // namespace tidemill
