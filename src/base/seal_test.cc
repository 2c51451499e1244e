// SPDX-License-Identifier: Apache-2.0
#include "base/seal.h"

#include <set>

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace tidemill {
namespace {

std::string Hex(std::string_view digits) {
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1]));
  }
  return bytes;
}

std::string LineOf(const std::string& id, char fill) {
  return id + " " + EncodeBase64(std::string(32, fill)) + "\n";
}

KeyRing RingOf(const std::string& text) {
  auto ring = KeyRing::Parse(text);
  EXPECT_TRUE(ring) << ring.error().reason;
  return *std::move(ring);
}

std::string WhyNoRing(const std::string& text) {
  const auto ring = KeyRing::Parse(text);
  EXPECT_TRUE(ring || ring.error().code == Code::kInvalid);
  return ring ? "" : ring.error().reason;
}

// Test cases 13 to 16 of the GCM specification that NIST took over.
TEST(Gcm, GivesTheKnownAnswers) {
  struct Case {
    std::string key, nonce, beside, plain, encrypted;
  };
  const std::string key(64, '0');
  const std::string other = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
  const std::string nonce = "cafebabefacedbaddecaf888";
  const std::string plain =
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449"
      "a6b525b16aedf5aa0de657ba637b391aafd255";
  const std::string body =
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056"
      "828838c5f61e6393ba7a0abcc9f662898015ad";
  const std::vector<Case> cases = {
      {key, std::string(24, '0'), "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
      {key, std::string(24, '0'), "", std::string(32, '0'),
       "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"},
      {other, nonce, "", plain, body + "b094dac5d93471bdec1a502270e3cc6c"},
      {other, nonce, "feedfacedeadbeeffeedfacedeadbeefabaddad2", plain.substr(0, 120),
       body.substr(0, 120) + "76fc6ece0f4e1768cddf8853bb2d551b"},
  };
  for (const Case& one : cases) {
    const std::string key_bytes = Hex(one.key);
    const std::string nonce_bytes = Hex(one.nonce);
    const std::string beside = Hex(one.beside);
    const SealInput input{.key = key_bytes, .nonce = nonce_bytes, .beside = beside};
    EXPECT_EQ(EncryptGcm(input, Hex(one.plain)), Hex(one.encrypted));
    const auto plain_again = DecryptGcm(input, Hex(one.encrypted));
    ASSERT_TRUE(plain_again);
    EXPECT_EQ(*plain_again, Hex(one.plain));
  }
}

TEST(Seal, OpensAgainWithItsContextOnly) {
  const KeyRing ring = RingOf(LineOf("k1", 'a'));
  for (const std::string& plain :
       {std::string(), std::string("hunter2"), std::string(40'000, '\0')}) {
    const std::string sealed = Seal(ring.first(), plain, "project 1, x");
    const auto opened = Unseal(ring, sealed, "project 1, x");
    ASSERT_TRUE(opened) << opened.error().reason;
    EXPECT_EQ(*opened, plain);
    for (const char* context : {"", "project 2, x", "project 1, x "}) {
      EXPECT_EQ(Unseal(ring, sealed, context).error().code, Code::kInvalid);
    }
    EXPECT_EQ(sealed.find("hunter2"), std::string::npos);
  }
}

TEST(Seal, IsAnotherOneEachTime) {
  const KeyRing ring = RingOf(LineOf("k1", 'a'));
  std::set<std::string> all;
  for (int i = 0; i < 100; ++i) all.insert(Seal(ring.first(), "same", "c"));
  EXPECT_EQ(all.size(), 100u);
}

TEST(Seal, IsBrokenByAChangeOfAnyBitAndByAnyCut) {
  // With the ids that a changed id may become, under the same key.
  const KeyRing ring = RingOf(LineOf("a", 'x') + LineOf("b", 'x') + LineOf("c", 'x'));
  const std::string sealed = Seal(ring.first(), "value", "context");
  ASSERT_TRUE(Unseal(ring, sealed, "context"));
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = sealed;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      const auto opened = Unseal(ring, changed, "context");
      ASSERT_FALSE(opened) << at;
      EXPECT_EQ(opened.error().reason.find("value"), std::string::npos);
    }
  }
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_FALSE(Unseal(ring, sealed.substr(0, size), "context")) << size;
    EXPECT_FALSE(Unseal(ring, sealed.substr(size), "context") && size > 0) << size;
  }
  EXPECT_FALSE(Unseal(ring, sealed + "x", "context"));
}

TEST(Seal, OutlivesAChangeOfKeysUntilItsOwnIsGone) {
  const std::string old_line = LineOf("old", 'a');
  const std::string new_line = LineOf("new", 'b');
  const std::string sealed = Seal(RingOf(old_line).first(), "value", "c");
  const KeyRing both = RingOf(new_line + old_line);
  EXPECT_EQ(both.first().id, "new");
  EXPECT_EQ(*Unseal(both, sealed, "c"), "value");
  const auto opened = Unseal(RingOf(new_line), sealed, "c");
  EXPECT_EQ(opened.error().code, Code::kNotFound);
  EXPECT_EQ(opened.error().reason, "it is sealed with the key 'old', which is not in the key file");
  // The same id with other bytes is another key.
  EXPECT_EQ(Unseal(RingOf(LineOf("old", 'b')), sealed, "c").error().code, Code::kInvalid);
}

TEST(KeyRing, ReadsLinesAndCommentsOfAFile) {
  const KeyRing ring = RingOf("# made in May\r\n\n  k-1 \t" + EncodeBase64(std::string(32, 'a')) +
                              " \r\n" + LineOf("K_2", 'b'));
  EXPECT_EQ(ring.first().id, "k-1");
  EXPECT_EQ(ring.first().bytes, std::string(32, 'a'));
  ASSERT_NE(ring.Find("K_2"), nullptr);
  EXPECT_EQ(ring.Find("k_2"), nullptr);
}

TEST(KeyRing, SaysWhatIsWrongWithAFileAndNoPartOfAKey) {
  EXPECT_EQ(WhyNoRing(""), "there is no key in it; make one: tidemill-server secret-key");
  EXPECT_EQ(WhyNoRing("# none\n\n"), "there is no key in it; make one: tidemill-server secret-key");
  EXPECT_EQ(WhyNoRing("\nk1 " + EncodeBase64(std::string(31, 'a'))),
            "line 2: the key 'k1' has 31 bytes and must have 32");
  EXPECT_EQ(WhyNoRing("k1 " + EncodeBase64(std::string(33, 'a'))),
            "line 1: the key 'k1' has 33 bytes and must have 32");
  EXPECT_EQ(WhyNoRing("k1 not_base64!"), "line 1: the key 'k1' is not base64");
  EXPECT_EQ(WhyNoRing(LineOf("a", 'a') + LineOf("b", 'b') + LineOf("a", 'c')),
            "line 3: the key 'a' is there twice");
  const std::string bare = EncodeBase64(std::string(32, 'q'));
  for (const std::string& text :
       {bare, "a/b " + bare, std::string(33, 'k') + " " + bare, std::string("k1")}) {
    EXPECT_TRUE(WhyNoRing(text).starts_with("line 1: must be an id")) << text;
    EXPECT_EQ(WhyNoRing(text).find(bare), std::string::npos);
  }
  std::string many;
  for (int i = 0; i < 101; ++i) many += LineOf("k" + std::to_string(i), 'a');
  EXPECT_EQ(WhyNoRing(many), "line 101: there are more than 100 keys; remove old ones");
}

TEST(KeyRing, TakesTheKeysThatAreMadeForIt) {
  SystemRandom random;
  const std::string one = MakeKeyLine(random);
  const std::string two = MakeKeyLine(random);
  EXPECT_NE(one, two);
  const KeyRing ring = RingOf("# new\n" + one + two);
  EXPECT_EQ(one.substr(0, one.find(' ')), ring.first().id);
  EXPECT_EQ(*Unseal(ring, Seal(ring.first(), "x", "c"), "c"), "x");
}

}  // namespace
}  // namespace tidemill
