// SPDX-License-Identifier: Apache-2.0
#include "cloud/sigv4.h"

#include <array>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/beside_test.h"
#include "base/digest.h"

namespace tidemill {
namespace {

const AwsKeys kKeys{.id = "AKIAIOSFODNN7EXAMPLE",
                    .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
const AwsScope kS3{.region = "us-east-1", .service = "s3"};
constexpr std::int64_t kMay24Ms = 1'369'353'600'000;

std::string FieldOf(const HttpFields& fields, std::string_view name) {
  const std::string* value = FindField(fields, name);
  return value == nullptr ? "" : *value;
}

// The examples of Amazon's own documents.
TEST(SignAws, GivesThePublishedSignature) {
  const AwsSigned made = SignAws({.host = "examplebucket.s3.amazonaws.com",
                                  .path = "/test.txt",
                                  .headers = {{"Range", "bytes=0-9"}},
                                  .payload = Hex(Sha256(""))},
                                 kKeys, kS3, kMay24Ms);
  EXPECT_EQ(made.target, "/test.txt");
  EXPECT_EQ(FieldOf(made.headers, "Authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(FieldOf(made.headers, "X-Amz-Date"), "20130524T000000Z");
  EXPECT_EQ(FieldOf(made.headers, "Range"), "bytes=0-9");
}

TEST(PresignAws, GivesThePublishedSignature) {
  const std::string target = PresignAws(
      {.host = "examplebucket.s3.amazonaws.com", .path = "/test.txt", .payload = kUnsignedPayload},
      kKeys, kS3, kMay24Ms, std::chrono::seconds(86'400));
  EXPECT_EQ(target,
            "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F"
            "20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires="
            "86400&X-Amz-SignedHeaders=host&X-Amz-Signature="
            "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

// What the script prints of one request.
struct Case {
  AwsRequest request;
  AwsKeys keys;
  AwsScope scope;
  std::int64_t now_s = 0;
  std::int64_t lasts_s = 0;  // 0: signed in its headers
  std::string path;          // encoded
  std::string expected;      // the Authorization field, or the signature in the query
};

std::string Unhex(const std::string& digits) {
  if (digits == "-") return "";
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

HttpFields PairsOf(const std::string& text) {
  HttpFields pairs;
  if (text == "-") return pairs;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t colon = part.find(':');
    pairs.emplace_back(Unhex(part.substr(0, colon)), Unhex(part.substr(colon + 1)));
  }
  return pairs;
}

Case CaseOf(const std::string& line) {
  std::istringstream words(line);
  const auto next = [&words] {
    std::string word;
    words >> word;
    return Unhex(word);
  };
  Case made;
  for (std::string* place : {&made.scope.service, &made.scope.region, &made.keys.id,
                             &made.keys.secret, &made.keys.token}) {
    *place = next();
  }
  made.now_s = std::stoll(next());
  made.lasts_s = std::stoll(next());
  for (std::string* place : {&made.request.method, &made.request.host, &made.request.path,
                             &made.request.payload, &made.path, &made.expected}) {
    *place = next();
  }
  std::string pairs;
  words >> pairs;
  made.request.query = PairsOf(pairs);
  words >> pairs;
  made.request.headers = PairsOf(pairs);
  return made;
}

std::vector<Case> CasesOfBotocore(int count) {
  const std::string command =
      "python3 " + BesideTest(TIDEMILL_TESTS "/cloud/sigv4_cases.py ") + std::to_string(count);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t got = fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), got);
  }
  std::vector<Case> cases;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) cases.push_back(CaseOf(line));
  return cases;
}

TEST(SignAws, SignsWhatBotocoreSigns) {
  constexpr int kCount = 800;
  const std::vector<Case> cases = CasesOfBotocore(kCount);
  ASSERT_EQ(cases.size(), kCount) << "python3 needs what tests/requirements.txt names";
  int presigned = 0;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.scope.service + " " + one.request.method + " " + one.request.path);
    if (one.lasts_s == 0) {
      const AwsSigned made = SignAws(one.request, one.keys, one.scope, one.now_s * 1000);
      EXPECT_EQ(FieldOf(made.headers, "Authorization"), one.expected);
      EXPECT_EQ(made.target.substr(0, made.target.find('?')), one.path);
      continue;
    }
    const std::string target = PresignAws(one.request, one.keys, one.scope, one.now_s * 1000,
                                          std::chrono::seconds(one.lasts_s));
    EXPECT_EQ(target.substr(target.rfind('=') + 1), one.expected);
    ++presigned;
  }
  EXPECT_GT(presigned, 200);
}

}  // namespace
}  // namespace tidemill
