// SPDX-License-Identifier: Apache-2.0
#include "mask/masker.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/random.h"
#include "mask/naive_testing.h"
#include "mask/patterns.h"

namespace tidemill {
namespace {

using Texts = std::set<std::string>;

std::string MaskInPieces(const Masker& masker, std::string_view text, std::size_t piece) {
  MaskedText masked(masker);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece)
    out += masked.Feed(text.substr(at, piece));
  return out + masked.Flush();
}

// The same, however it is cut.
std::string Mask(const Masker& masker, std::string_view text) {
  const std::string whole = MaskInPieces(masker, text, text.size() + 1);
  for (std::size_t piece = 1; piece <= std::min<std::size_t>(text.size(), 40); ++piece) {
    EXPECT_EQ(MaskInPieces(masker, text, piece), whole) << piece;
  }
  for (std::size_t border = 0; border <= text.size(); ++border) {
    MaskedText masked(masker);
    std::string out = masked.Feed(text.substr(0, border));
    out += masked.Feed(text.substr(border));
    EXPECT_EQ(out + masked.Flush(), whole) << border;
  }
  return whole;
}

std::string MaskSecret(const std::string& secret, std::string_view text) {
  return Mask(Masker::OfSecrets({secret}), text);
}

TEST(Masker, HidesEveryOccurrence) {
  const Masker masker(Texts{"secret", "cretin"});
  EXPECT_EQ(Mask(masker, "a secret and a secret."), "a *** and a ***.");
  EXPECT_EQ(Mask(masker, "secretin"), "***");
  EXPECT_EQ(Mask(masker, "secretsecret cretin"), "*** ***");
  EXPECT_EQ(Mask(masker, "secre"), "secre");
  EXPECT_EQ(Mask(masker, "secre secret"), "secre ***");
  EXPECT_EQ(Mask(masker, "sesecret"), "se***");
  EXPECT_EQ(Mask(masker, ""), "");
}

TEST(Masker, HidesALongPatternAndAShortOneInIt) {
  const Masker masker(Texts{"abcdefgh", "cd", "defghijk"});
  EXPECT_EQ(Mask(masker, "xabcdefghx"), "x***x");
  EXPECT_EQ(Mask(masker, "xabcdefx"), "xab***efx");
  EXPECT_EQ(Mask(masker, "xabcdefghijkx"), "x***x");
  EXPECT_EQ(Mask(Masker(Texts{"aa"}), "baaaab"), "b***b");
  EXPECT_EQ(Mask(Masker(Texts{"a"}), "banana"), "b***n***n***");
}

TEST(Masker, WithoutPatternsLetsEverythingThrough) {
  const Masker masker = Masker::OfSecrets({"", "12345", "\n\n\n\n\n\n\n"});
  EXPECT_TRUE(masker.empty());
  EXPECT_EQ(Mask(masker, "12345 \n\n\n\n\n\n\n"), "12345 \n\n\n\n\n\n\n");
}

TEST(Masker, HoldsBackNothingButTheBeginningOfAPattern) {
  const Masker masker = Masker::OfSecrets({"correct horse"});
  MaskedText masked(masker);
  EXPECT_EQ(masked.Feed("Your password: "), "Your password: ");
  EXPECT_EQ(masked.Feed("corr"), "");
  EXPECT_EQ(masked.held_bytes(), 4u);
  EXPECT_EQ(masked.Feed("idor "), "corridor ");
  EXPECT_EQ(masked.Feed("correct hors"), "");
  EXPECT_EQ(masked.Feed("e"), "***");
  EXPECT_EQ(masked.Feed("correct horse"), "");
  EXPECT_EQ(masked.Feed(" cor"), " ");
  EXPECT_EQ(masked.Flush(), "cor");
  EXPECT_EQ(masked.Feed("rect horse "), "rect horse ");
}

RC_GTEST_PROP(Masker, MeansWhatTheNaiveSearchFinds, ()) {
  const auto word = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'd')));
  const auto words = *rc::gen::container<std::vector<std::string>>(word);
  const Texts patterns(words.begin(), words.end());
  auto text = *rc::gen::container<std::string>(rc::gen::inRange('a', 'e'));
  for (const std::string& pattern : patterns) {
    text.insert(*rc::gen::inRange<std::size_t>(0, text.size() + 1), pattern);
  }
  const Masker masker(patterns);
  MaskedText masked(masker);
  std::string got;
  for (std::size_t at = 0; at < text.size();) {
    const auto piece = *rc::gen::inRange<std::size_t>(1, 12);
    got += masked.Feed(std::string_view(text).substr(at, piece));
    at = std::min(at + piece, text.size());
    RC_ASSERT(masked.held_bytes() == OpenNaively(text.substr(0, at), patterns));
  }
  RC_ASSERT(got + masked.Flush() == MaskNaively(text, patterns));
}

// Of a log that holds a secret in any of its forms, nothing of it is left.
// Few letters, so that patterns lie in and over each other.
TEST(Masker, MayBeExchangedForOneThatKnowsMoreAtAnyMoment) {
  const Texts few = {"abcabc", "bca", "aabb"};
  Texts more = few;
  more.insert("xyz");
  const Masker before(few);
  const Masker after(more);
  const std::string text = "aabcabcabca bcaabbaabb abcab aabcabcaabb cabcabc";
  for (std::size_t border = 0; border <= text.size(); ++border) {
    MaskedText masked(before);
    std::string out = masked.Feed(text.substr(0, border));
    masked.Use(after);
    out += masked.Feed(text.substr(border) + " xyz");
    EXPECT_EQ(out + masked.Flush(), MaskNaively(text + " xyz", more)) << border;
  }
}

RC_GTEST_PROP(Masker, HidesASecretInAllItsForms, ()) {
  auto secret = *rc::gen::arbitrary<std::string>();
  secret += *rc::gen::container<std::string>(6, rc::gen::inRange('!', '~'));
  Texts patterns;
  AddPatterns(secret, patterns);
  const Masker masker = Masker::OfSecrets({secret});
  const auto before = *rc::gen::arbitrary<std::string>();
  const auto behind = *rc::gen::arbitrary<std::string>();
  const auto cut = *rc::gen::inRange<std::size_t>(1, 9);
  for (const std::string& form : patterns) {
    const std::string text = before + form + behind;
    RC_ASSERT(MaskInPieces(masker, text, cut) == MaskNaively(text, patterns));
  }
  for (const std::size_t size : {0, 1, 2, 3}) {
    const std::string encoded = EncodeBase64(std::string(size, 'x') + secret + behind);
    RC_ASSERT(MaskInPieces(masker, encoded, cut).find("***") != std::string::npos);
  }
}

TEST(Masker, HidesBase64AtEveryAlignmentToTheLastCharacter) {
  const std::string secret = "s3cr?t>>pass~";
  for (const std::string before : {"", "a", "ab", "abc", "user:"}) {
    const std::string encoded = EncodeBase64(before + secret);
    const std::size_t shown = (8 * before.size() + 5) / 6;
    EXPECT_EQ(MaskSecret(secret, encoded), encoded.substr(0, shown) + "***") << before;
    std::string url = encoded.substr(0, encoded.find('='));
    std::replace(url.begin(), url.end(), '+', '-');
    std::replace(url.begin(), url.end(), '/', '_');
    EXPECT_EQ(MaskSecret(secret, url), url.substr(0, shown) + "***") << before;
    // Of what is behind it no more than one character is hidden.
    const std::string more = EncodeBase64(before + secret + "more text");
    EXPECT_TRUE(MaskSecret(secret, more).starts_with(more.substr(0, shown) + "***"));
    EXPECT_TRUE(MaskSecret(secret, more).ends_with(more.substr(more.size() - 8)));
  }
}

TEST(Masker, HidesBase64ThatIsBrokenIntoLines) {
  std::string secret;
  for (int i = 0; i < 40; ++i) secret += std::to_string(i * 7919);
  for (const std::string behind : {"", "\n"}) {
    const std::string encoded = EncodeBase64(secret + behind);
    for (const std::size_t width : {64, 76}) {
      std::string lines;
      std::string expected;
      for (std::size_t at = 0; at < encoded.size(); at += width) {
        lines += encoded.substr(at, width) + "\n";
        expected += at + width < encoded.size() ? "***\n" : "***";
      }
      EXPECT_TRUE(MaskSecret(secret, lines).starts_with(expected)) << MaskSecret(secret, lines);
    }
  }
}

TEST(Masker, HidesPercentEncodedForms) {
  const std::string secret = "p/ss w=rd+~*'";
  for (const char* form :
       {"p%2Fss%20w%3Drd%2B~%2A%27", "p%2fss%20w%3drd%2b~%2a%27", "p/ss%20w%3Drd%2B~%2A%27",
        "p%2Fss%20w%3Drd%2B~*'", "p%2Fss+w%3Drd%2B%7E*%27", "p%2fss+w%3drd%2b~%2a%27"}) {
    EXPECT_EQ(MaskSecret(secret, "?a=" + std::string(form) + "&b"), "?a=***&b") << form;
  }
}

TEST(Masker, HidesFormsOfJsonStrings) {
  const std::string secret = "a\"b\\c\n<d>\xc3\xbc\xf0\x9f\x94\x91\x01";
  for (const char* form : {"a\\\"b\\\\c\\n<d>\xc3\xbc\xf0\x9f\x94\x91\\u0001",
                           "a\\\"b\\\\c\\n<d>\\u00fc\\ud83d\\udd11\\u0001",
                           "a\\\"b\\\\c\\n\\u003cd\\u003e\xc3\xbc\xf0\x9f\x94\x91\\u0001"}) {
    EXPECT_EQ(MaskSecret(secret, "{\"x\":\"" + std::string(form) + "\"}"), "{\"x\":\"***\"}");
  }
  EXPECT_EQ(MaskSecret("\xff\xc3plain\"", "\xff\xc3plain\\\""), "***");
}

TEST(Masker, HidesWhatCarefulJsonEncodersMakeOfASecret) {
  const std::string secret = "p/<q>&'=+\xc3\xbc";
  for (const char* form :
       {"p\\/<q>&'=+\xc3\xbc", "p\\/<q>&'=+\\u00fc", "p\\/<q>&'=+\\u00FC",
        "p/\\u003Cq\\u003E\\u0026'=+\xc3\xbc", "p/\\u003cq\\u003e\\u0026\\u0027\\u003d+\xc3\xbc",
        "p\\/\\u003Cq\\u003E\\u0026\\u0027=+\\u00FC", "p\\/\\u003cq\\u003e\\u0026\\u0027=+\\u00fc",
        "p/\\u003Cq\\u003E\\u0026\\u0027=\\u002B\\u00FC",
        "p/\\u003Cq\\u003E\\u0026\\u0027\\u003D\\u002B\\u00FC"}) {
    EXPECT_EQ(MaskSecret(secret, "{\"x\":\"" + std::string(form) + "\"}"), "{\"x\":\"***\"}")
        << form;
  }
  EXPECT_EQ(MaskSecret("say \"x\" `y`", "say \\u0022x\\u0022 \\u0060y\\u0060"), "***");
}

TEST(Masker, HidesTheLinesOfAKeyFile) {
  const std::string key = "-----BEGIN KEY-----\r\nMIIEvQIBADAN\r\nshort\r\nBgkqhkiG9w0B\r\n";
  EXPECT_EQ(MaskSecret(key, key), "***\r\n");
  EXPECT_EQ(MaskSecret(key, "key: MIIEvQIBADAN\n  short\n  BgkqhkiG9w0B\n"),
            "key: ***\n  short\n  ***\n");
  EXPECT_EQ(MaskSecret("hunter2\n", "it is hunter2.\n"), "it is ***.\n");
  EXPECT_EQ(MaskSecret("hunter2\n", EncodeBase64("hunter2")), "***");
}

TEST(Masker, HidesNothingThatIsTooShort) {
  EXPECT_EQ(MaskSecret("12345", "12345"), "12345");
  EXPECT_EQ(MaskSecret("123456", "123456"), "***");
}

TEST(Masker, OfTheMostAndLargestSecretsIsBounded) {
  for (const std::size_t size : {limits::kSecretBytes, kMostEncodedBytes}) {
    std::vector<std::string> secrets;
    SeededRandom random(1);
    for (std::size_t i = 0; i < limits::kSecretsPerJob; ++i) {
      std::string& secret = secrets.emplace_back(size, '\0');
      for (char& c : secret) c = static_cast<char>(random.Below(256));
    }
    const Masker masker = Masker::OfSecrets(secrets);
    EXPECT_LT(masker.nodes(), 7'000'000u) << size;
    MaskedText masked(masker);
    std::string out = masked.Feed(secrets.back() + ".");
    out += masked.Flush();  // the point may be the beginning of another one
    EXPECT_EQ(out, "***.");
    // One that never ends is not held for ever.
    for (int i = 0; i < 20; ++i) {
      masked.Feed(secrets.front().substr(0, size - 1));
      EXPECT_LE(masked.held_bytes(), 2 * size);
    }
  }
}

TEST(Masker, IsNotSlowedDownByTextsThatMatchAllTheTime) {
  const Masker masker(Texts{std::string(20'000, 'a'), std::string(20'000, 'a') + "b"});
  MaskedText masked(masker);
  EXPECT_EQ(masked.Feed(std::string(2'000'000, 'a')).substr(0, 3), "***");
  std::string out;
  for (int i = 0; i < 100'000; ++i) out += masked.Feed("a");
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace tidemill
