// SPDX-License-Identifier: Apache-2.0
// What a program is answered on loopback; the test itself is the client.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <fstream>

#include "init/door.h"
#include "init/driven_init.h"

namespace tidemill::init {
namespace {

// One connection.
class Client {
 public:
  explicit Client(const std::string& url) {
    const std::size_t port_at = url.rfind(':') + 1;
    prefix_ = url.substr(url.find('/', port_at));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(port_at))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  const std::string& prefix() const { return prefix_; }
  void SendRaw(const std::string& bytes) {
    send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void Ask(const std::string& target, const std::string& body = "") {
    SendRaw("POST " + prefix_ + target +
            " HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  // The status and the body, such as "200 {}". Empty: the connection has ended.
  std::string Answer() {
    while (bytes_.find("\r\n\r\n") == std::string::npos) {
      if (!Receive()) return "";
    }
    const std::size_t head_end = bytes_.find("\r\n\r\n");
    const std::size_t length_at = bytes_.find("Content-Length: ");
    const std::size_t length = length_at > head_end ? 0 : std::stoul(bytes_.substr(length_at + 16));
    while (bytes_.size() < head_end + 4 + length) {
      if (!Receive()) return "";
    }
    std::string answer = bytes_.substr(9, 3) + " " + bytes_.substr(head_end + 4, length);
    bytes_.erase(0, head_end + 4 + length);
    if (answer.ends_with("\n")) answer.pop_back();
    return answer;
  }
  std::string Post(const std::string& target, const std::string& body = "") {
    Ask(target, body);
    return Answer();
  }
  bool Receive() {
    pollfd readable{.fd = socket_, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, kPatienceMs) != 1) return false;
    char bytes[4096];
    const ssize_t size = recv(socket_, bytes, sizeof(bytes), 0);
    if (size <= 0) return false;
    bytes_.append(bytes, static_cast<std::size_t>(size));
    return true;
  }

 private:
  std::string prefix_;
  std::string bytes_;
  int socket_ = -1;
  bool connected_ = false;
};

// A program that says where to ask, and then leaves it to the test.
std::string Script() { return "echo $TIDEMILL_URL > $0/new; mv $0/new $0/url; exec sleep 1000"; }

std::string UrlFrom(const std::string& folder) {
  std::string url;
  for (int i = 0; i < kPatienceMs / 10 && url.empty(); ++i) {
    std::ifstream(folder + "/url") >> url;
    if (url.empty()) usleep(10'000);
  }
  return url;
}

class LoopbackTest : public testing::Test {
 protected:
  void Load() {
    frame::Run program{.grace_us = kSecond};
    const std::string script = Script();
    const std::string scratch = init_.scratch();
    program.argv = {kBusybox, "sh", "-c", script, scratch};
    init_.Send(*frame::EncodeProgram(program));
  }
  void Item(std::uint64_t number) {
    const std::string json = "{\"item\":" + std::to_string(number) + "}";
    init_.Send(*frame::EncodeItem(number, {.name = number, .json = json}));
  }
  void LoadWith(std::uint64_t items) {
    Load();
    for (std::uint64_t i = 1; i <= items; ++i) Item(i);
    url_ = UrlFrom(init_.scratch());
    ASSERT_FALSE(url_.empty());
  }

  DrivenInit init_;
  std::string url_;
};

TEST_F(LoopbackTest, HandsOverWhatIsThereAndSettlesEachOnItsOwn) {
  LoadWith(3);
  Client client(url_);
  EXPECT_EQ(client.Post("/next?max=2"), R"(200 {"items":[{"item":1},{"item":2}],"done":false})");
  EXPECT_EQ(client.Post("/next?max=2&wait=0", R"({"results":[{"item":2,"exit":9}]})"),
            R"(200 {"items":[{"item":3}],"done":false})");
  EXPECT_EQ(init_.Take().end.exit, 9);
  EXPECT_EQ(client.Post("/next?wait=0"), R"(200 {"items":[],"done":false})");
}

TEST_F(LoopbackTest, TakesAllOfABodyOrNothing) {
  LoadWith(2);
  Client client(url_);
  client.Post("/next?max=2");
  for (const char* bad :
       {R"({"results":[{"item":1},{"item":3}]})", R"({"results":[{"item":1},{"item":1}]})"}) {
    EXPECT_EQ(client.Post("/next?wait=0", bad).substr(0, 3), "409") << bad;
  }
  for (const char* bad : {R"({"results":[{"item":1},{"item":-3}]})", "{", "nonsense",
                          R"({"results":[{"item":1,"exit":999}]})"}) {
    EXPECT_EQ(client.Post("/next?wait=0", bad).substr(0, 3), "400") << bad;
  }
  for (const char* bad : {"/next?max=0", "/next?max=1025", "/next?max=x", "/next?wait=60001"}) {
    EXPECT_EQ(client.Post(bad, R"({"results":[{"item":1}]})").substr(0, 3), "400") << bad;
  }
  // It is still held, and is settled once.
  EXPECT_EQ(client.Post("/next?wait=0", R"({"results":[{"item":1}]})").substr(0, 3), "200");
  EXPECT_EQ(init_.Take().number, 1U);
  EXPECT_EQ(client.Post("/next?wait=0", R"({"results":[{"item":1}]})").substr(0, 3), "409");
}

TEST_F(LoopbackTest, LetsWhoAsksWaitUntilThereIsSomething) {
  LoadWith(1);
  Client client(url_);
  Client second(url_);
  client.Post("/next");
  client.Ask("/next?wait=60000");
  second.Ask("/next?wait=60000");
  Item(2);
  EXPECT_EQ(client.Answer(), R"(200 {"items":[{"item":2}],"done":false})");
  init_.Send(frame::EncodeNoMore());
  EXPECT_EQ(second.Answer(), R"(200 {"items":[],"done":true})");
}

TEST_F(LoopbackTest, GivesNothingToWhoWentAwayWhileItWaited) {
  LoadWith(1);
  Client client(url_);
  client.Post("/next");
  {
    Client gone(url_);
    gone.Ask("/next?wait=60000");
  }
  // One look takes its request, and the next one sees its end.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.Post("/next?wait=0").substr(0, 3), "200");
  Item(2);
  EXPECT_EQ(client.Post("/next?wait=60000"), R"(200 {"items":[{"item":2}],"done":false})");
}

TEST_F(LoopbackTest, AnswersNobodyWithoutTheToken) {
  LoadWith(1);
  Client client(url_);
  std::string other = client.prefix();
  other.back() = other.back() == '0' ? '1' : '0';
  for (const std::string& path : {std::string("/"), std::string("/next"), other + "/next",
                                  client.prefix() + "x/next", client.prefix()}) {
    client.SendRaw("POST " + path + " HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.Answer().substr(0, 3), "404") << path;
  }
  client.SendRaw("GET " + client.prefix() + "/next HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.Answer().substr(0, 3), "405");
  EXPECT_EQ(client.prefix().size(), 33U);
}

TEST_F(LoopbackTest, EndsAConnectionThatIsNoHttpAndServesTheOthers) {
  LoadWith(1);
  Client good(url_);
  for (const char* bad :
       {"\x16\x03\x01\x02\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    Client client(url_);
    client.SendRaw(bad);
    EXPECT_EQ(client.Answer()[0], '4');
    EXPECT_EQ(client.Answer(), "");
  }
  Client careful(url_);
  careful.SendRaw("POST " + careful.prefix() +
                  "/next?wait=0 HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(careful.Answer(), "100 ");
  careful.SendRaw("{}");
  EXPECT_EQ(careful.Answer(), R"(200 {"items":[{"item":1}],"done":false})");
  EXPECT_EQ(good.Post("/next?wait=0"), R"(200 {"items":[],"done":false})");
}

TEST_F(LoopbackTest, RefusesTwoRequestsAtOnce) {
  LoadWith(1);
  Client hasty(url_);
  const std::string request =
      "POST " + hasty.prefix() + "/next?wait=0 HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
  hasty.SendRaw(request + request);
  EXPECT_EQ(hasty.Answer().substr(0, 3), "400");
  EXPECT_EQ(hasty.Answer(), "");
  EXPECT_EQ(Client(url_).Post("/next?wait=0"), R"(200 {"items":[{"item":1}],"done":false})");
}

TEST_F(LoopbackTest, ServesManyWhoStayAndTheNextOnceOneHasLeft) {
  LoadWith(1);
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < Door::kConnectionsMost; ++i) {
    clients.push_back(std::make_unique<Client>(url_));
    ASSERT_EQ(clients.back()->Post("/next?wait=0").substr(0, 3), "200") << i;
  }
  Client next(url_);
  next.Ask("/next?wait=0");
  // Those that are there are served as before.
  EXPECT_EQ(clients.front()->Post("/next?wait=0").substr(0, 3), "200");
  clients.front().reset();
  EXPECT_EQ(next.Answer().substr(0, 3), "200");
}

TEST_F(LoopbackTest, TellsHowFarTheOnlyItemIs) {
  LoadWith(2);
  Client client(url_);
  EXPECT_EQ(client.Post("/progress", R"({"fraction":0.1})").substr(0, 3), "409");
  client.Post("/next");
  EXPECT_EQ(client.Post("/progress", R"({"fraction":0.25})"), "204 ");
  const auto got = init_.NextFrame();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->kind, frame::Kind::kProgress);
  EXPECT_EQ(frame::DecodeProgress(got->payload)->permille, 250);
  client.Post("/next");
  EXPECT_EQ(client.Post("/progress", R"({"fraction":0.5})").substr(0, 3), "409");
  EXPECT_EQ(client.Post("/progress", R"({"item":2,"fraction":0.5})"), "204 ");
  EXPECT_EQ(client.Post("/progress", R"({"fraction":2})").substr(0, 3), "400");
}

TEST_F(LoopbackTest, IsThereForItemsThatAreProcesses) {
  const std::string script = Script();
  init_.Run(5, {kBusybox, "sh", "-c", script, init_.scratch()}, {.grace_us = kSecond});
  url_ = UrlFrom(init_.scratch());
  Client client(url_);
  EXPECT_EQ(client.Post("/next").substr(0, 3), "409");
  EXPECT_EQ(client.Post("/progress", R"({"fraction":0.5,"note":"half"})"), "204 ");
  const auto got = init_.NextFrame();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->number, 5U);
  EXPECT_EQ(frame::DecodeProgress(got->payload)->note, "half");
  // A connection ends with the item that made it.
  init_.Stop(5);
  init_.Take();
  EXPECT_EQ(client.Answer(), "");
}

TEST_F(LoopbackTest, HandsOutTheKeysOfTheRoleThatItWasToldLast) {
  const auto ask = [](Client& client) {
    client.SendRaw("GET " + client.prefix() + "/role HTTP/1.1\r\n\r\n");
    return client.Answer();
  };
  LoadWith(1);
  Client client(url_);
  EXPECT_EQ(ask(client).substr(0, 3), "404");
  for (const char* keys : {R"({"AccessKeyId":"A"})", R"({"AccessKeyId":"B"})"}) {
    init_.Send(*frame::EncodeRole(keys));
    // Frames are taken before requests; this one shows that it has been.
    client.Post("/next?wait=0");
    EXPECT_EQ(ask(client), std::string("200 ") + keys);
  }
  EXPECT_EQ(client.Post("/role").substr(0, 3), "405");
}

TEST_F(LoopbackTest, TellsTheToolsOfAWSWhereTheKeysAre) {
  const std::string script =
      "echo \"$AWS_CONTAINER_CREDENTIALS_FULL_URI $AWS_EC2_METADATA_DISABLED\"";
  init_.RunShell(1, script);
  EXPECT_EQ(init_.Take().log, " \n");
  init_.Send(*frame::EncodeRole("{}"));
  init_.RunShell(2, script + "; echo $TIDEMILL_URL/role true");
  const std::string log = init_.Take().log;
  EXPECT_EQ(log.substr(0, log.size() / 2), log.substr(log.size() / 2));
  EXPECT_EQ(log.find("http://127.0.0.1:"), 0U);
}

TEST_F(LoopbackTest, IsTheMetadataServerOfARoleOfGoogle) {
  LoadWith(1);
  Client client(url_);
  const auto ask = [&](const std::string& path) {
    client.SendRaw("GET " + client.prefix() + path + " HTTP/1.1\r\n\r\n");
    return client.Answer();
  };
  const std::string keys = R"({"access_token":"ya29","expires_s":4102444800,)"
                           R"("email":"r@films-1.iam.gserviceaccount.com"})";
  init_.Send(*frame::EncodeRole(keys));
  client.Post("/next?wait=0");
  const std::string accounts = "/computeMetadata/v1/instance/service-accounts/";
  const std::string token = ask(accounts + "default/token");
  EXPECT_EQ(token.find(R"(200 {"access_token":"ya29","expires_in":)"), 0U) << token;
  EXPECT_EQ(ask(accounts + "r@films-1.iam.gserviceaccount.com/email"),
            "200 r@films-1.iam.gserviceaccount.com");
  EXPECT_NE(ask(accounts + "default/?recursive=true").find(R"("email":"r@films-1.)"),
            std::string::npos);
  EXPECT_EQ(ask("/computeMetadata/v1/project/project-id"), "200 films-1");
  EXPECT_EQ(ask(accounts + "other@films-1.iam.gserviceaccount.com/token").substr(0, 3), "404");
  EXPECT_EQ(ask("/computeMetadata/v1/instance/id").substr(0, 3), "404");
  EXPECT_EQ(ask("/role").substr(0, 3), "404");
}

TEST(Role, ItsProgramsInheritNoOtherKeys) {
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_REGION"})
    setenv(name, "own", 1);
  DrivenInit init;
  const std::string script = "echo \"[$AWS_ACCESS_KEY_ID$AWS_PROFILE][$AWS_REGION]\"";
  init.RunShell(1, script);
  EXPECT_EQ(init.Take().log, "[ownown][own]\n");
  init.Send(*frame::EncodeRole("{}"));
  init.RunShell(2, script);
  EXPECT_EQ(init.Take().log, "[][own]\n");
}

TEST_F(LoopbackTest, KeepsSomeOfWhatIsPrintedBeforeAnItemIsTaken) {
  frame::Run program{.grace_us = kSecond};
  const std::string script = "yes | head -c 200000; " + Script();
  const std::string scratch = init_.scratch();
  program.argv = {kBusybox, "sh", "-c", script, scratch};
  init_.Send(*frame::EncodeProgram(program));
  Item(1);
  url_ = UrlFrom(init_.scratch());
  Client client(url_);
  client.Post("/next");
  client.Post("/next?wait=0", R"({"results":[{"item":1}]})");
  const Told told = init_.Take();
  EXPECT_GT(told.log.size(), 64U * 1024);
  EXPECT_LT(told.log.size(), 66U * 1024);
  EXPECT_TRUE(told.log.ends_with("is dropped\n"));
}

}  // namespace
}  // namespace tidemill::init
