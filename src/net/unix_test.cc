// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "net/child.h"
#include "net/http_fixture.h"
#include "net/unix_address.h"
#include "net/unix_listener.h"
#include "net/unix_stream.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class UnixTest : public HttpFixture {
 protected:
  UnixTest() {
    char name[] = "/tmp/tidemill-unix-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~UnixTest() override { std::filesystem::remove_all(folder_); }

  // A folder whose path alone is longer than the address of a socket can be.
  std::string Deep() {
    const std::string deep = folder_ + "/" + std::string(90, 'd') + "/" + std::string(90, 'e');
    std::filesystem::create_directories(deep);
    return deep;
  }

  // A blocking socket that is connected to the path, or not.
  static std::optional<RawSocket> ConnectTo(const std::string& path) {
    const auto address = UnixAddress::Of(path);
    if (!address) return std::nullopt;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    memcpy(at.sun_path, address->text().c_str(), address->text().size());
    RawSocket raw(fd);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return std::nullopt;
    return raw;
  }

  std::unique_ptr<UnixListener> Listen(const std::string& path, UnixListener::OnPeer on_peer) {
    auto listener = UnixListener::Listen(loop_, path, std::move(on_peer));
    EXPECT_TRUE(listener) << listener.error().reason;
    return *std::move(listener);
  }

  // A stream of ours and the other end of it.
  RawSocket MakeStream() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    stream_.emplace(loop_, Fd(ends[0]));
    return RawSocket(ends[1]);
  }

  std::string folder_;
  std::optional<UnixStream> stream_;
  std::string got_;
  std::string end_;
};

TEST_F(UnixTest, AcceptsAndNamesWhoConnectsOnPathsOfAnyLength) {
  for (const std::string& path : {folder_ + "/s", Deep() + "/agent.sock"}) {
    std::optional<UnixPeer> peer;
    const auto listener = Listen(path, [&](UnixPeer who) { peer = std::move(who); });
    struct stat file{};
    ASSERT_EQ(stat(path.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0666u);
    auto raw = ConnectTo(path);
    ASSERT_TRUE(raw);
    RunUntil([&] { return peer.has_value(); });
    EXPECT_EQ(peer->pid, getpid());
    EXPECT_EQ(peer->uid, getuid());
    stream_.emplace(loop_, std::move(peer->socket));
    stream_->Send("to you");
    RunBeside([&] { EXPECT_EQ(raw->ReadUntil("you"), "to you"); });
  }
}

TEST_F(UnixTest, AListenerMayGoInItsOwnCallAndNobodyConnectsAfterwards) {
  std::unique_ptr<UnixListener> listener;
  const std::string path = folder_ + "/s";
  listener = Listen(path, [&](const UnixPeer&) { listener.reset(); });
  const auto first = ConnectTo(path);
  RunUntil([&] { return !listener; });
  EXPECT_FALSE(ConnectTo(path));
}

TEST_F(UnixTest, SaysWhyItCannotListen) {
  EXPECT_EQ(UnixListener::Listen(loop_, folder_ + "/none/s", nullptr).error().code,
            Code::kUnavailable);
  EXPECT_EQ(UnixListener::Listen(loop_, "", nullptr).error().code, Code::kInvalid);
  EXPECT_EQ(
      UnixListener::Listen(loop_, folder_ + "/" + std::string(200, 'x'), nullptr).error().code,
      Code::kInvalid);
}

TEST_F(UnixTest, AStreamReadsUntilTheOtherSideCloses) {
  RawSocket raw = MakeStream();
  stream_->Start([&](std::string_view bytes) { got_.append(bytes); },
                 [&](const std::string& reason) { end_ = reason; });
  raw.Send("hello");
  RunUntil([&] { return got_ == "hello"; });
  EXPECT_EQ(end_, "");
  raw.Close();
  RunUntil([&] { return !end_.empty(); });
  stream_->Send("into the void");
  EXPECT_EQ(stream_->unsent(), 0u);
}

TEST_F(UnixTest, AStreamKeepsWhatTheOtherSideDoesNotTakeAndSaysHowMuch) {
  RawSocket raw = MakeStream();
  std::string sent;
  for (int i = 0; i < 300; ++i) {
    const std::string piece(10'000 + i, static_cast<char>('a' + i % 26));
    stream_->Send(piece);
    sent += piece;
  }
  EXPECT_GT(stream_->unsent(), sent.size() / 2);
  EXPECT_LT(stream_->unsent(), sent.size());
  sent += "END";
  stream_->Send("END");
  std::string read;
  RunBeside([&] { read = raw.ReadBytes(sent.size()); });
  EXPECT_EQ(read.size(), sent.size());
  EXPECT_TRUE(read == sent);
  EXPECT_EQ(stream_->unsent(), 0u);
}

TEST_F(UnixTest, AStreamSaysNothingAfterClose) {
  RawSocket raw = MakeStream();
  stream_->Start([](std::string_view) { FAIL(); }, [](const std::string&) { FAIL(); });
  raw.Send("x");
  raw.Close();
  stream_->Close();
  RunWhatIsReady();
}

TEST_F(UnixTest, AStreamMayBeDestroyedInItsCalls) {
  for (const bool at_end : {false, true}) {
    RawSocket raw = MakeStream();
    stream_->Start(
        [&](std::string_view) {
          if (!at_end) stream_.reset();
        },
        [&](const std::string&) { stream_.reset(); });
    raw.Send("x");
    raw.Close();
    RunUntil([&] { return !stream_; });
  }
}

// An HTTP server behind a Unix socket: a relay to the one of the fixture would hide nothing, so
// the test plays it by hand.
TEST_F(UnixTest, CallsAServerBehindAUnixSocket) {
  const std::string path = Deep() + "/http.sock";
  std::optional<UnixPeer> peer;
  const auto listener = Listen(path, [&](UnixPeer who) {
    stream_.emplace(loop_, std::move(who.socket));
    stream_->Start(
        [&](std::string_view bytes) {
          got_.append(bytes);
          if (got_.ends_with("\r\n\r\n")) {
            stream_->Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
            stream_->Send("2\r\nde\r\n0\r\n\r\n");
          }
        },
        [](const std::string&) {});
  });
  client_.emplace(loop_, Origin{.host = "docker", .unix_path = path});
  const auto answer = Call({.target = "/version"});
  ASSERT_TRUE(answer) << answer.error().reason;
  EXPECT_EQ(answer->body, "abcde");
  EXPECT_EQ(got_, "GET /version HTTP/1.1\r\nHost: docker\r\n\r\n");
  EXPECT_EQ(client_->connections(), 1u);
  ASSERT_TRUE(Call({.target = "/again"}));
  EXPECT_EQ(client_->connections(), 1u);
}

TEST_F(UnixTest, SaysThatNothingWasSentWhenNobodyIsBehindTheSocket) {
  client_.emplace(loop_, Origin{.host = "docker", .unix_path = folder_ + "/none"});
  auto answer = Call({});
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_EQ(answer.error().reason, "connect: No such file or directory");
  client_.emplace(loop_, Origin{.host = "docker", .unix_path = Deep() + std::string(200, 'x')});
  EXPECT_EQ(Call({}).error().code, Code::kUnavailable);
}

TEST_F(UnixTest, HandsOverALongAnswerPieceByPieceAndKeepsNoneOfIt) {
  const std::string path = folder_ + "/s";
  const auto listener = Listen(path, [&](UnixPeer who) {
    stream_.emplace(loop_, std::move(who.socket));
    stream_->Start(
        [&](std::string_view) {
          const std::string piece(1000, 'p');
          stream_->Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
          for (int i = 0; i < 500; ++i) stream_->Send("3e8\r\n" + piece + "\r\n");
          stream_->Send("0\r\n\r\n");
        },
        [](const std::string&) {});
  });
  client_.emplace(loop_, Origin{.host = "docker", .unix_path = path});
  std::size_t pieces = 0;
  std::size_t bytes = 0;
  const auto answer = Call({.on_piece = [&](std::string_view piece) {
    ++pieces;
    bytes += piece.size();
  }});
  ASSERT_TRUE(answer) << answer.error().reason;
  EXPECT_EQ(answer->body, "");
  EXPECT_EQ(bytes, 500'000u);
  EXPECT_GT(pieces, 5u);
}

TEST_F(UnixTest, TheBodyOfAnErrorIsKeptWhole) {
  Serve(
      [](HttpRequest, HttpRespond respond) { respond({.status = 404, .body = "no such image"}); });
  const auto answer = Call({.on_piece = [](std::string_view) { FAIL(); }});
  EXPECT_EQ(answer->body, "no such image");
}

class ChildTest : public UnixTest {
 protected:
  std::unique_ptr<Child> Start(const std::string& script, Fd fd = Fd(dup(0))) {
    auto child = Child::Start(loop_, {"/bin/sh", "-c", script}, std::move(fd),
                              [this](int status) { status_ = status; });
    EXPECT_TRUE(child) << child.error().reason;
    return *std::move(child);
  }
  std::optional<int> status_;
};

TEST_F(ChildTest, SaysHowAChildEnded) {
  auto child = Start("exit 3");
  RunUntil([&] { return status_.has_value(); });
  EXPECT_EQ(DescribeExit(*status_), "exit code 3");
  status_.reset();
  child = Start("kill -9 $$");
  RunUntil([&] { return status_.has_value(); });
  EXPECT_EQ(DescribeExit(*status_), "signal 9 (Killed)");
}

TEST_F(ChildTest, SaysWhyItCannotBeStarted) {
  const auto child = Child::Start(loop_, {"/no/such/program"}, Fd(dup(0)), [](int) { FAIL(); });
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().reason, "cannot start '/no/such/program': No such file or directory");
}

TEST_F(ChildTest, AChildHasItsDescriptorAndNoOtherOfOurs) {
  RawSocket raw = MakeStream();
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  RawSocket other(ends[0]);
  // What `ls` has open besides is the folder that it lists.
  const auto child = Start("ls /proc/self/fd | tr '\\n' ' ' >&3; echo END >&3", Fd(ends[1]));
  std::string seen;
  RunBeside([&] { seen = other.ReadUntil("END"); });
  EXPECT_EQ(seen, "0 1 2 3 4 END");
}

TEST_F(ChildTest, AChildThatIsDestroyedIsDead) {
  auto child = Start("exec sleep 1000");
  const pid_t pid = child->pid();
  EXPECT_FALSE(child->WaitFor(milliseconds(1)));
  EXPECT_EQ(kill(pid, 0), 0);
  child.reset();
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_FALSE(status_);
}

TEST_F(ChildTest, WaitsAndKills) {
  const auto child = Start("exec sleep 1000");
  child->Kill();
  EXPECT_TRUE(child->WaitFor(seconds(10)));
  RunUntil([&] { return status_.has_value(); });
  EXPECT_EQ(DescribeExit(*status_), "signal 9 (Killed)");
}

}  // namespace
}  // namespace tidemill
