// SPDX-License-Identifier: Apache-2.0
#include "cloud/google_tokens.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>

#include "base/bytes.h"
#include "cloud/cloud_fixture.h"
#include "cloud/rs256.h"

namespace tidemill {
namespace {

// A key pair of RSA.
class TestKey {
 public:
  TestKey() : key_(EVP_RSA_gen(2048), EVP_PKEY_free) {}

  std::string Pem() const {
    const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* bytes = nullptr;
    const auto size = BIO_get_mem_data(bio.get(), &bytes);
    return {bytes, static_cast<std::size_t>(size)};
  }
  bool Signed(const std::string& text, const std::string& signature) const {
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                     EVP_MD_CTX_free);
    const auto bytes = [](const std::string& of) {
      return reinterpret_cast<const unsigned char*>(of.data());
    };
    return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
           EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text),
                            text.size()) == 1;
  }

 private:
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
};

std::string FromBase64Url(std::string text) {
  for (char& c : text) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  while (text.size() % 4 != 0) text += '=';
  return DecodeBase64(text).value_or("not base64");
}

std::string WithoutLines(const std::string& pem) {
  std::string text;
  for (const char c : pem) text += c == '\n' ? "\\n" : std::string(1, c);
  return text;
}

class GoogleTokensTest : public CloudFixture {
 protected:
  Result<std::string> Get() {
    if (!tokens_) tokens_.emplace(loop_, world_);
    return Await<std::string>([this](auto done) { tokens_->Get(done); });
  }
  std::string Reason() {
    const auto got = Get();
    return got ? "none" : got.error().reason;
  }
  void BeInstance() {
    world_.environment["GCE_METADATA_HOST"] = Host();
    play_ = [this](const HttpRequest& request) -> HttpResponse {
      const bool is_right =
          request.method == "GET" &&
          request.path == "/computeMetadata/v1/instance/service-accounts/default/token" &&
          HeaderOf(request, "Metadata-Flavor") == "Google";
      if (!is_right) return {.status = 403};
      return {.body = R"({"access_token":"ya29.)" + std::to_string(++given_) +
                      R"(","expires_in":3599,"token_type":"Bearer"})"};
    };
  }

  int given_ = 0;
  std::optional<GoogleTokens> tokens_;
};

TEST_F(GoogleTokensTest, AsksTheMetadataServerAndRenewsInTime) {
  BeInstance();
  EXPECT_EQ(Get().value(), "ya29.1");
  EXPECT_EQ(Get().value(), "ya29.1");
  now_ms_ += 3400 * 1000;
  EXPECT_EQ(Get().value(), "ya29.1");
  RunUntil([this] { return Get().value() == "ya29.2"; });
  now_ms_ += 4000 * 1000;
  EXPECT_EQ(Get().value(), "ya29.3");
}

TEST_F(GoogleTokensTest, NamesEveryPlaceInWhichItLooked) {
  world_.environment["GCE_METADATA_HOST"] = Host();  // where nobody knows of tokens
  const auto got = Get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kNobody);
  for (const std::string& place : {std::string("GOOGLE_APPLICATION_CREDENTIALS"), Host(),
                                   std::string("application_default_credentials.json")}) {
    EXPECT_NE(got.error().reason.find(place), std::string::npos) << got.error().reason;
  }
}

TEST_F(GoogleTokensTest, TrustsNoMetadataServerThatIsFar) {
  world_.environment["GCE_METADATA_HOST"] = "metadata.example.com";
  EXPECT_NE(Reason().find("GCE_METADATA_HOST"), std::string::npos) << Reason();
}

TEST_F(GoogleTokensTest, SignsForTheAccountOfAKeyFile) {
  const TestKey key;
  const std::string uri = Url() + "/token";
  world_.environment["GOOGLE_APPLICATION_CREDENTIALS"] =
      Write("key.json", R"({"type":"service_account","client_email":"a@b","private_key_id":"k1",)"
                        R"("private_key":")" +
                            WithoutLines(key.Pem()) + R"(","token_uri":")" + uri + "\"}");
  play_ = [&](const HttpRequest& request) -> HttpResponse {
    const std::string begin =
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    if (!request.body.starts_with(begin)) return {.status = 400};
    const std::string jwt = request.body.substr(begin.size());
    const std::size_t first = jwt.find('.');
    const std::size_t second = jwt.rfind('.');
    EXPECT_EQ(FromBase64Url(jwt.substr(0, first)), R"({"alg":"RS256","typ":"JWT","kid":"k1"})");
    EXPECT_EQ(FromBase64Url(jwt.substr(first + 1, second - first - 1)),
              R"({"iss":"a@b","scope":"https://www.googleapis.com/auth/cloud-platform","aud":")" +
                  uri + R"(","iat":1777000000,"exp":1777003600})");
    if (!key.Signed(jwt.substr(0, second), FromBase64Url(jwt.substr(second + 1)))) {
      return {.status = 401, .body = R"({"error":"invalid_grant","error_description":"bad"})"};
    }
    return {.body = R"({"access_token":"from-key","expires_in":3600})"};
  };
  EXPECT_EQ(Get().value(), "from-key") << Reason();
}

TEST_F(GoogleTokensTest, RenewsForAPersonByTheFileOfGcloud) {
  Write(".config/gcloud/application_default_credentials.json",
        R"({"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r/1",)"
        R"("token_uri":")" +
            Url() + "/token\"}");
  play_ = [](const HttpRequest& request) -> HttpResponse {
    if (request.body !=
        "grant_type=refresh_token&client_id=c&client_secret=s&refresh_token=r%2F1") {
      return {.status = 400};
    }
    return {.status = 400, .body = R"({"error":"invalid_grant","error_description":"revoked"})"};
  };
  const auto got = Get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kForbidden);
  EXPECT_NE(got.error().reason.find("invalid_grant: revoked"), std::string::npos) << Reason();
}

TEST_F(GoogleTokensTest, SaysWhatIsWrongWithAFile) {
  world_.environment["GOOGLE_APPLICATION_CREDENTIALS"] = folder_.string() + "/key.json";
  EXPECT_NE(Reason().find("No such file"), std::string::npos) << Reason();
  Write("key.json", "{\"private_key\": \"hunter2");
  EXPECT_NE(Reason().find("not a JSON object"), std::string::npos) << Reason();
  EXPECT_EQ(Reason().find("hunter2"), std::string::npos) << Reason();
  Write("key.json", R"({"type":"external_account"})");
  EXPECT_NE(Reason().find("external_account"), std::string::npos) << Reason();
  Write("key.json", R"({"type":"service_account","client_email":"a","private_key":"x"})");
  EXPECT_NE(Reason().find("not one of RSA"), std::string::npos) << Reason();
  Write(
      "key.json",
      R"({"type":"service_account","client_email":"a","private_key":"x","token_uri":"http://a"})");
  EXPECT_NE(Reason().find("must be https"), std::string::npos) << Reason();
}

}  // namespace
}  // namespace tidemill
