// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "cloud/cloud_fixture.h"
#include "cloud/rs256.h"
#include "provider/proof/aws_document.h"
#include "provider/proof/cloud_proofs.h"
#include "provider/proof/google_identity.h"
#include "provider/proof/proof_testing.h"

namespace tidemill {
namespace {

constexpr char kDocument[] = R"({
  "accountId" : "123456789012",
  "instanceId" : "i-0fe2",
  "kernelId" : null,
  "region" : "eu-west-1"
})";

MachineProof AwsProof(const std::string& document = kDocument, const std::string& key = kProofKey) {
  std::string signature = EncodeBase64(*SignRs256(key, document));
  signature.insert(64, "\n");  // as metadata gives it
  return {"aws", document, signature};
}

TEST(AwsDocument, SaysWhichInstanceItIsIfAWSHasSignedIt) {
  const auto proven = CheckAwsDocument(AwsProof(), std::string(kOtherPublic) + kProofPublic);
  ASSERT_TRUE(proven) << proven.error().reason;
  EXPECT_EQ(*proven, (ProvenMachine{"aws", "i-0fe2"}));
}

TEST(AwsDocument, OfAnotherSignerOrChangedProvesNothing) {
  const auto check = [](const MachineProof& proof, const std::string& pem) {
    const auto proven = CheckAwsDocument(proof, pem);
    return proven ? Code::kInternal : proven.error().code;
  };
  EXPECT_EQ(check(AwsProof(), kOtherPublic), Code::kNobody);
  EXPECT_EQ(check(AwsProof(), ""), Code::kNobody);
  MachineProof changed = AwsProof();
  changed.document.replace(changed.document.find("0fe2"), 4, "0fe3");
  EXPECT_EQ(check(changed, kProofPublic), Code::kNobody);
  MachineProof unsigned_one = AwsProof();
  unsigned_one.signature = "";
  EXPECT_EQ(check(unsigned_one, kProofPublic), Code::kNobody);
  for (const char* const document : {"", "[]", "{}", R"({"instanceId":""})", R"({"instanceId":7})",
                                     "nonsense", R"({"instanceId":"i-1","instanceId":"i-2"})"}) {
    EXPECT_EQ(check(AwsProof(document), kProofPublic), Code::kNobody) << document;
  }
}

constexpr std::int64_t kNow = 1'777'000'000;  // seconds, as the fixture's clock
constexpr char kServer[] = "https://tidemill.example";

constexpr char kInstance[] =
    R"({"project_id":"films-1","zone":"europe-west4-a","instance_name":"tm-1-spot-3"})";
const ProvenMachine kProven{"gcp", "films-1/europe-west4-a/tm-1-spot-3"};

std::string ClaimsOf(const std::string& audience, std::int64_t issued, std::int64_t expires,
                     const std::string& issuer = "https://accounts.google.com",
                     const std::string& instance = kInstance) {
  return R"({"iss":")" + issuer + R"(","aud":")" + audience + R"(","iat":)" +
         std::to_string(issued) + R"(,"exp":)" + std::to_string(expires) +
         R"(,"google":{"compute_engine":)" + instance + "}}";
}

std::string TokenOf(const std::string& claims,
                    const std::string& header = R"({"alg":"RS256","kid":"k1"})",
                    const std::string& key = kProofKey) {
  const std::string text = EncodeBase64Url(header) + "." + EncodeBase64Url(claims);
  return text + "." + EncodeBase64Url(*SignRs256(key, text));
}

const GoogleKeys kKeys{{"k1", kProofPublic}, {"k2", kOtherPublic}};

TEST(GoogleIdentity, SaysWhichInstanceItIsIfGoogleHasSignedItForUs) {
  const auto proven = CheckGoogleIdentity(TokenOf(ClaimsOf(kServer, kNow, kNow + 3600)), kKeys,
                                          {"https://other", kServer}, kNow * 1000);
  ASSERT_TRUE(proven) << proven.error().reason;
  EXPECT_EQ(*proven, kProven);
}

TEST(GoogleIdentity, AnInstanceOfTheSameNameInAnotherProjectIsAnother) {
  const std::string theirs =
      R"({"project_id":"evil-1","zone":"europe-west4-a","instance_name":"tm-1-spot-3"})";
  const auto proven = CheckGoogleIdentity(
      TokenOf(ClaimsOf(kServer, kNow, kNow + 3600, "https://accounts.google.com", theirs)), kKeys,
      {kServer}, kNow * 1000);
  ASSERT_TRUE(proven) << proven.error().reason;
  EXPECT_EQ(proven->id, "evil-1/europe-west4-a/tm-1-spot-3");
}

TEST(GoogleIdentity, AnythingElseProvesNothing) {
  const std::string good = ClaimsOf(kServer, kNow, kNow + 3600);
  const std::string token = TokenOf(good);
  for (const std::string& bad : {
           TokenOf(ClaimsOf("https://another", kNow, kNow + 3600)),
           TokenOf(ClaimsOf(kServer, kNow - 7200, kNow - 3600)),
           TokenOf(ClaimsOf(kServer, kNow + 3600, kNow + 7200)),
           TokenOf(ClaimsOf(kServer, kNow, kNow + 3600, "https://evil.example")),
           TokenOf(good, R"({"alg":"none","kid":"k1"})"),
           TokenOf(good, R"({"alg":"HS256","kid":"k1"})"),
           TokenOf(good, R"({"alg":"RS256","kid":"k2"})"),
           TokenOf(good, R"({"alg":"RS256","kid":"k3"})"),
           TokenOf(good, R"({"alg":"RS256"})"),
           TokenOf("{}"),
           TokenOf("nonsense"),
           token.substr(0, token.rfind('.') + 1),
           token.substr(0, token.rfind('.')),
           token + ".x",
           std::string("a.b.c"),
           std::string(),
       }) {
    const auto proven = CheckGoogleIdentity(bad, kKeys, {kServer}, kNow * 1000);
    ASSERT_FALSE(proven) << bad;
    EXPECT_EQ(proven.error().code, Code::kNobody);
  }
}

class CloudProofsTest : public CloudFixture {
 protected:
  Result<ProvenMachine> Check(CloudProofs& proofs, const MachineProof& proof) {
    return Await<ProvenMachine>([&](auto done) { proofs.Check(proof, done); });
  }
  CloudProofOptions Options() {
    return {.aws_certificates = kProofPublic,
            .audiences = {kServer},
            .google_keys = *ParseWebUrl(Url() + "/certs")};
  }
};

TEST_F(CloudProofsTest, FetchesGooglesKeysOnceAnHour) {
  play_ = [](const HttpRequest&) { return HttpResponse{.status = 200, .body = kProofJwks}; };
  CloudProofs proofs(loop_, world_, Options());
  const MachineProof proof{"gcp", TokenOf(ClaimsOf(kServer, kNow, kNow + 7200)), ""};
  EXPECT_EQ(*Check(proofs, proof), kProven);
  EXPECT_EQ(*Check(proofs, proof), kProven);
  EXPECT_EQ(seen_.size(), 1U);
  now_ms_ += 61 * 60 * 1000;
  EXPECT_TRUE(Check(proofs, proof));
  EXPECT_EQ(seen_.size(), 2U);
}

TEST_F(CloudProofsTest, WithoutGooglesKeysNobodyIsRefusedForGood) {
  play_ = [](const HttpRequest&) { return HttpResponse{.status = 200, .body = "{\"keys\":[]}"}; };
  CloudProofs proofs(loop_, world_, Options());
  const MachineProof proof{"gcp", TokenOf(ClaimsOf(kServer, kNow, kNow + 7200)), ""};
  EXPECT_EQ(Check(proofs, proof).error().code, Code::kUnavailable);
}

TEST_F(CloudProofsTest, BelievesWhomItWasToldToBelieve) {
  CloudProofs proofs(loop_, world_, Options());
  EXPECT_EQ(*Check(proofs, AwsProof()), (ProvenMachine{"aws", "i-0fe2"}));
  EXPECT_EQ(Check(proofs, {"azure", "x", "y"}).error().code, Code::kNobody);
  CloudProofs nobody(loop_, world_, {});
  EXPECT_EQ(Check(nobody, AwsProof()).error().code, Code::kNobody);
  EXPECT_EQ(Check(nobody, {"gcp", "a.b.c", ""}).error().code, Code::kNobody);
  EXPECT_TRUE(seen_.empty());
}

}  // namespace
}  // namespace tidemill
