// SPDX-License-Identifier: Apache-2.0
#include "net/fd_watch.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "net/loop_testing.h"

namespace tidemill {
namespace {

class FdReaderTest : public ::testing::Test {
 protected:
  void Read(int fd) {
    reader_ = std::make_unique<FdReader>(
        loop_, fd, [this](std::string_view bytes) { got_ += bytes; }, [this] { ++ends_; });
    EXPECT_EQ(got_.size() + static_cast<std::size_t>(ends_), 0u);  // not from inside
  }

  void RunUntil(const std::function<bool()>& is_true) { RunLoopUntil(loop_, is_true); }

  static void Write(int fd, std::string_view text) {
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  static bool IsBlocking(int fd) { return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0; }

  AsioLoop loop_;
  std::unique_ptr<FdReader> reader_;
  std::string got_;
  int ends_ = 0;
};

struct TestPipe {
  TestPipe() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    from = Fd(fds[0]);
    to = Fd(fds[1]);
  }
  Fd from;
  Fd to;
};

TEST_F(FdReaderTest, ReadsAPipeToItsEnd) {
  TestPipe pipe;
  Read(pipe.from.get());
  RunWhatIsReady(loop_);
  EXPECT_TRUE(IsBlocking(pipe.from.get()));
  for (const char* text : {"one ", "two ", "three"}) {
    const std::size_t before = got_.size();
    Write(pipe.to.get(), text);
    RunUntil([&] { return got_.size() > before; });
  }
  EXPECT_EQ(got_, "one two three");
  EXPECT_EQ(ends_, 0);
  pipe.to.Reset();
  RunUntil([&] { return ends_ == 1; });
  RunWhatIsReady(loop_);
  EXPECT_EQ(ends_, 1);
  EXPECT_TRUE(IsBlocking(pipe.from.get()));
}

TEST_F(FdReaderTest, ReadsNothingWhileItHolds) {
  TestPipe pipe;
  Read(pipe.from.get());
  reader_->Hold(true);
  Write(pipe.to.get(), "x");
  pipe.to.Reset();
  RunWhatIsReady(loop_);
  EXPECT_EQ(got_, "");
  EXPECT_EQ(ends_, 0);
  reader_->Hold(false);
  RunUntil([&] { return ends_ == 1; });
  EXPECT_EQ(got_, "x");
}

TEST_F(FdReaderTest, ReadsAFileFromWhereItStands) {
  std::string name = testing::TempDir() + "/tidemill-fd-XXXXXX";
  const Fd file(mkstemp(name.data()));
  unlink(name.c_str());
  const std::string text(1'000'000, 'f');
  Write(file.get(), "before" + text);
  lseek(file.get(), 6, SEEK_SET);
  Read(file.get());
  RunUntil([&] { return ends_ == 1; });
  EXPECT_TRUE(got_ == text);
}

TEST_F(FdReaderTest, ADeviceWithoutAnythingEndsAtOnce) {
  const Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Read(null.get());
  RunUntil([&] { return ends_ == 1; });
  EXPECT_EQ(got_, "");
}

TEST_F(FdReaderTest, AClosedDescriptorEndsAtOnce) {
  TestPipe pipe;
  const int fd = pipe.from.get();
  pipe.from.Reset();
  Read(fd);
  RunUntil([&] { return ends_ == 1; });
  got_ = "";
  ends_ = 0;
  Read(-1);
  RunUntil([&] { return ends_ == 1; });
}

TEST_F(FdReaderTest, OneThatCannotBeReadEndsAtOnce) {
  const Fd folder(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Read(folder.get());
  RunUntil([&] { return ends_ == 1; });
}

TEST_F(FdReaderTest, ReadsATerminalUntilItHangsUp) {
  int master = -1;
  int slave = -1;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  Fd screen(master);
  const Fd terminal(slave);
  Read(terminal.get());
  Write(screen.get(), "ls\n");
  RunUntil([&] { return !got_.empty(); });
  EXPECT_EQ(got_, "ls\n");
  EXPECT_TRUE(IsBlocking(terminal.get()));
  screen.Reset();
  RunUntil([&] { return ends_ == 1; });
}

// The one that comes second must not block the loop.
TEST_F(FdReaderTest, TwoMayReadTheSameOne) {
  TestPipe pipe;
  Read(pipe.from.get());
  std::string other;
  const FdReader second(
      loop_, pipe.from.get(), [&](std::string_view bytes) { other += bytes; }, [] {});
  Write(pipe.to.get(), "x");
  RunUntil([&] { return got_ + other == "x"; });
}

TEST_F(FdReaderTest, MayBeDestroyedByItsOwnCalls) {
  TestPipe pipe;
  reader_ = std::make_unique<FdReader>(
      loop_, pipe.from.get(), [this](std::string_view) { reader_.reset(); }, [this] { ++ends_; });
  Write(pipe.to.get(), "x");
  RunUntil([&] { return reader_ == nullptr; });
  reader_ = std::make_unique<FdReader>(
      loop_, pipe.from.get(), [](std::string_view) {}, [this] { reader_.reset(); });
  pipe.to.Reset();
  RunUntil([&] { return reader_ == nullptr; });
  EXPECT_EQ(ends_, 0);
}

}  // namespace
}  // namespace tidemill
