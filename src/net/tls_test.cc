// SPDX-License-Identifier: Apache-2.0
#include "net/tls.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "net/http_fixture.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kYear = 365 * 86'400;

class TlsTest : public HttpFixture {
 protected:
  TlsTest() { tls_ = true; }

  // What a client says that meets this server.
  Error MeetAs(const std::string& host, const TlsFiles& files) {
    options_.tls = *TlsIdentity::Open(files);
    Serve();
    NewClient(server_->port(), host);
    const auto answer = Call({});
    EXPECT_FALSE(answer);
    EXPECT_EQ(client_->connections(), 0u);
    return answer ? Error{} : answer.error();
  }

  TestAuthority& authority_ = TestAuthority::Common();
};

bool Has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

// The number of the certificate that a server shows.
std::string SerialOf(RawSocket& raw) {
  const CertificatePtr shown(SSL_get1_peer_certificate(raw.ssl()));
  if (!shown) return "";
  BIGNUM* const number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(shown.get()), nullptr);
  char* const text = BN_bn2hex(number);
  std::string serial = text;
  OPENSSL_free(text);
  BN_free(number);
  return serial;
}

TEST_F(TlsTest, BelievesTheRightAuthorityForTheRightName) {
  Serve();
  EXPECT_EQ(Call({})->body, "GET / ");
  NewClient(server_->port(), "localhost");
  EXPECT_EQ(Call({})->body, "GET / ");
}

TEST_F(TlsTest, BelievesNobodyElse) {
  const TestAuthority other;
  const Error error = MeetAs("127.0.0.1", other.Files());
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_TRUE(Has(error.reason, "the certificate of 127.0.0.1:" + std::to_string(server_->port()) +
                                    " is not trusted: "))
      << error.reason;
  EXPECT_TRUE(Has(error.reason, "give its CA with --ca FILE")) << error.reason;
  const std::string what = "; its SHA-256 fingerprint is ";
  const std::size_t at = error.reason.find(what);
  ASSERT_NE(at, std::string::npos) << error.reason;
  const std::string shown = error.reason.substr(at + what.size(), 32 * 3 - 1);
  EXPECT_EQ(shown.find_first_not_of("0123456789ABCDEF:"), std::string::npos) << shown;
  EXPECT_EQ(error.reason[at + what.size() + shown.size()], ';');
}

TEST_F(TlsTest, BelievesNoServerThatVouchesForItself) {
  const TestAuthority other;
  const TlsFiles self{other.Write("self.pem", other.pair.certificate),
                      other.Write("self.key", other.pair.key)};
  EXPECT_TRUE(Has(MeetAs("127.0.0.1", self).reason, "is not trusted: self-signed certificate"));
}

TEST_F(TlsTest, BelievesNoServerUnderAnotherName) {
  const auto for_name = authority_.Files("name", {"batch.example"});
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const Error error = MeetAs(host, for_name);
    EXPECT_EQ(error.code, Code::kUnavailable);
    EXPECT_TRUE(Has(error.reason, " is for another host: ")) << error.reason;
  }
}

TEST_F(TlsTest, BelievesNoCertificateBeforeOrAfterItsTime) {
  const std::int64_t now = std::time(nullptr);
  const TestAuthority old(now - 4 * kYear);
  client_options_.tls = old.Trust();
  Error error = MeetAs("127.0.0.1", old.Files("old", {"127.0.0.1"}, now - 3 * kYear));
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_TRUE(Has(error.reason, "is no longer valid: ")) << error.reason;
  error = MeetAs("127.0.0.1", old.Files("new", {"127.0.0.1"}, now + kYear));
  EXPECT_TRUE(Has(error.reason, "is not valid yet: ")) << error.reason;
}

TEST_F(TlsTest, TheSystemDoesNotBelieveUs) {
  Serve();
  client_.emplace(loop_, OriginOf(server_->port()));
  EXPECT_EQ(Call({}).error().code, Code::kUnavailable);
  const std::string file = authority_.Path("ca.pem");
  setenv("SSL_CERT_FILE", file.c_str(), 1);
  client_.emplace(loop_, OriginOf(server_->port()));
  EXPECT_TRUE(Call({}));
  unsetenv("SSL_CERT_FILE");
}

TEST_F(TlsTest, SpeaksNoOldVersion) {
  Serve();
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION}) {
    const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    // Or the client itself would not speak them.
    SSL_CTX_set_security_level(context.get(), 0);
    SSL_CTX_set_min_proto_version(context.get(), version);
    SSL_CTX_set_max_proto_version(context.get(), version);
    RunBeside([&] {
      RawSocket raw = RawSocket::ConnectPlain(server_->port());
      EXPECT_EQ(raw.Handshake(context.get(), false), version >= TLS1_2_VERSION) << version;
    });
  }
}

TEST_F(TlsTest, TellsWhoSpeaksClearTextThatItIsTheWrongPort) {
  Serve();
  std::string answer;
  RunBeside([&] {
    RawSocket raw = RawSocket::ConnectPlain(server_->port());
    raw.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    answer = raw.ReadAll();
    RawSocket nonsense = RawSocket::ConnectPlain(server_->port());
    nonsense.Send("nonsense that is no TLS at all");
    EXPECT_LT(nonsense.ReadAll().size(), 20u);  // no more than an alert
  });
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_TRUE(Has(answer, "https://"));
  RunUntil([&] { return server_->connections() == 0; });
}

TEST_F(TlsTest, SaysThatAServerSpeaksClearText) {
  tls_ = false;
  Serve();
  tls_ = true;
  NewClient(server_->port());
  const auto answer = Call({});
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_TRUE(Has(answer.error().reason, "does not speak TLS")) << answer.error().reason;
}

TEST_F(TlsTest, DropsAHandshakeThatDoesNotGoOn) {
  options_.header_timeout = seconds(10);
  Serve();
  Skip({});
  const RawSocket silent = RawSocket::ConnectPlain(server_->port());
  RawSocket slow = RawSocket::ConnectPlain(server_->port());
  slow.Send(std::string("\x16\x03\x01\x02\x00\x01", 6));  // a ClientHello begins
  RunUntil([&] { return server_->connections() == 2; });
  Skip(milliseconds(9'999));
  RunWhatIsReady();
  EXPECT_EQ(server_->connections(), 2u);
  Skip(seconds(1));  // the server looks at all connections once a second
  RunUntil([&] { return server_->connections() == 0; });
}

TEST_F(TlsTest, GivesUpOnAServerThatDoesNotShakeHands) {
  RawSocket listener = RawSocket::Listen();
  NewClient(listener.port());
  const auto answer = Call({.timeout = milliseconds(50)});
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_EQ(client_->connections(), 0u);
}

TEST_F(TlsTest, AnAnswerThatIsCutShortIsAnError) {
  RawSocket listener = RawSocket::Listen();
  NewClient(listener.port());
  for (const bool cut : {true, false}) {
    std::thread server([&] {
      RawSocket raw = listener.Accept(true);
      raw.ReadUntil(kEndOfHead);
      raw.Send("HTTP/1.1 200 OK\r\n\r\nall until the end");
      cut ? raw.Cut() : raw.Close();
    });
    const auto answer = Call({});
    server.join();
    // Only TLS itself can tell that this was all.
    EXPECT_EQ(answer ? Code::kInternal : answer.error().code,
              cut ? Code::kUnknown : Code::kInternal);
  }
}

TEST_F(TlsTest, ARequestThatIsCutShortIsNotHandled) {
  int handled = 0;
  Serve([&](HttpRequest, HttpRespond respond) {
    ++handled;
    respond({});
  });
  RunBeside([&] {
    RawSocket raw = Connect();
    raw.Send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nsome");
    raw.Cut();
  });
  RunUntil([&] { return server_->connections() == 0; });
  EXPECT_EQ(handled, 0);
}

TEST_F(TlsTest, EndsInGoodOrder) {
  Serve();
  RunBeside([&] {
    RawSocket raw = Connect();
    raw.Send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    raw.ReadAll();
    EXPECT_NE(SSL_get_shutdown(raw.ssl()) & SSL_RECEIVED_SHUTDOWN, 0);
  });
}

TEST_F(TlsTest, CarriesLargeBodiesBothWaysAtOnce) {
  Serve();
  std::string body(8 << 20, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7919 >> 5);
  int done = 0;
  for (int i = 0; i < 4; ++i) {
    client_->Send({.method = "PUT", .body = body}, [&](Result<HttpResponse> answer) {
      ++done;
      ASSERT_TRUE(answer) << answer.error().reason;
      EXPECT_TRUE(answer->body == "PUT / " + body);
    });
  }
  RunUntil([&] { return done == 4; });
}

TEST_F(TlsTest, SaysWhichFileIsWrong) {
  const TlsFiles good = authority_.Files("good");
  const TlsFiles other = authority_.Files("other");
  const auto refused = [](const TlsFiles& files) {
    const auto opened = TlsIdentity::Open(files);
    EXPECT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::kInvalid);
    return opened.error().reason;
  };
  EXPECT_TRUE(Has(refused({"/none.pem", good.key}), "/none.pem: No such file"));
  EXPECT_TRUE(Has(refused({good.certificate, "/none.key"}), "/none.key: No such file"));
  EXPECT_TRUE(Has(refused({good.key, good.key}), good.key + " holds no certificate in PEM"));
  EXPECT_TRUE(Has(refused({good.certificate, good.certificate}),
                  good.certificate + " holds no private key in PEM"));
  EXPECT_TRUE(Has(refused({good.certificate, other.key}), "the key in " + other.key +
                                                              " does not belong to the "
                                                              "certificate in " +
                                                              good.certificate));
  const std::string half = authority_.Write(
      "half.pem", authority_.pair.certificate + authority_.pair.certificate.substr(0, 200));
  EXPECT_TRUE(Has(refused({half, authority_.Write("ca.key", authority_.pair.key)}), half));
  EXPECT_TRUE(Has(refused({"/tmp", good.key}), "/tmp is empty, or no file"));
  EXPECT_FALSE(TlsTrust::File("/none.pem"));
  EXPECT_TRUE(Has(TlsTrust::File(good.key).error().reason, "holds no certificate"));
}

TEST_F(TlsTest, KeepsItsCertificateWhenTheNewOneIsBad) {
  const TlsFiles files = authority_.Files("kept");
  const auto identity = *TlsIdentity::Open(files);
  EXPECT_FALSE(identity->FilesChanged());
  options_.tls = identity;
  Serve();
  authority_.Write("kept.key", "no key");
  EXPECT_TRUE(identity->FilesChanged());
  const auto reloaded = identity->Reload();
  EXPECT_EQ(reloaded.error().code, Code::kInvalid);
  // It is said once, not at every look.
  EXPECT_FALSE(identity->FilesChanged());
  EXPECT_TRUE(Call({}));
  std::filesystem::remove(files.key);
  EXPECT_TRUE(identity->FilesChanged());
  EXPECT_FALSE(identity->Reload());
  EXPECT_TRUE(Call({}));
  authority_.Files("kept");
  EXPECT_TRUE(identity->FilesChanged());
  EXPECT_TRUE(identity->Reload());
  EXPECT_FALSE(identity->FilesChanged());
}

TEST_F(TlsTest, ChangesItsCertificateUnderLoadAndNobodyNotices) {
  const auto identity = *TlsIdentity::Open(authority_.Files("swapped"));
  options_.tls = identity;
  Serve();
  int answered = 0;
  int failed = 0;
  std::vector<std::unique_ptr<HttpClient>> clients(8);
  std::function<void(std::size_t)> again = [&](std::size_t at) {
    // A new connection for every tenth call, so that handshakes are under way all the time.
    if (answered % 10 == 0) clients[at].reset();
    if (!clients[at]) {
      clients[at] = std::make_unique<HttpClient>(loop_, OriginOf(server_->port()), ClientOptions());
    }
    clients[at]->Send({.method = "PUT", .body = std::string(20'000, 'x')}, [&, at](auto answer) {
      answer ? ++answered : ++failed;
      // From the loop, because a client must not be destroyed and used in its own call.
      loop_.After(Duration::zero(), [&, at] { again(at); });
    });
  };
  for (std::size_t at = 0; at < clients.size(); ++at) again(at);
  std::vector<std::string> serials;
  for (int swap = 0; swap < 20; ++swap) {
    const int before = answered;
    authority_.Files("swapped");
    EXPECT_TRUE(identity->FilesChanged());
    ASSERT_TRUE(identity->Reload());
    RunBeside([&] {
      RawSocket raw = Connect();
      serials.push_back(SerialOf(raw));
    });
    RunUntil([&] { return answered > before + 20; });
  }
  EXPECT_EQ(failed, 0);
  std::sort(serials.begin(), serials.end());
  EXPECT_EQ(std::unique(serials.begin(), serials.end()), serials.end());
  clients.clear();
}

}  // namespace
}  // namespace tidemill
