// SPDX-License-Identifier: Apache-2.0
#include "cli/prompt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/fd.h"
#include "base/wipe.h"

namespace tidemill::cli {
namespace {

// The kernel keeps no more of a line that is being typed, and says nothing of the rest.
constexpr std::size_t kTerminalLine = 4095;

tl::unexpected<Error> InputError(const std::string& doing) {
  return Fail(Code::kInvalid, doing + ": " + std::strerror(errno));
}

Result<std::string> ReadFd(int fd, const std::string& name, std::size_t most) {
  std::string text;
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return InputError("cannot read " + name);
    if (got == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > most) {
      Wipe(text);
      return Fail(Code::kInvalid, name + " has more than " + std::to_string(most) + " bytes");
    }
  }
  explicit_bzero(piece.data(), piece.size());
  return text;
}

// While it lives the terminal shows nothing but line ends, and the signals that a person sends come
// as bytes: whatever ends the question, the terminal is as it was.
class HiddenTyping {
 public:
  HiddenTyping() {
    sigset_t set{};
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, &old_signals_);
    sigdelset(&set, SIGTSTP);  // has to wait until the terminal is as it was
    signals_.Reset(::signalfd(-1, &set, SFD_CLOEXEC));
    ok_ = signals_ && ::tcgetattr(STDIN_FILENO, &old_) == 0;
    if (!ok_) return;
    termios quiet = old_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    quiet.c_lflag |= ECHONL | ICANON;
    ok_ = changed_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) == 0;
  }
  ~HiddenTyping() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &old_);
    sigprocmask(SIG_SETMASK, &old_signals_, nullptr);
  }
  HiddenTyping(const HiddenTyping&) = delete;
  HiddenTyping& operator=(const HiddenTyping&) = delete;

  bool ok() const { return ok_; }

  // False: a signal came first, and is used up. Waits for a person, so without an end.
  bool WaitForLine() const {
    std::array<pollfd, 2> waits = {pollfd{signals_.get(), POLLIN, 0},
                                   pollfd{STDIN_FILENO, POLLIN, 0}};
    while (::poll(waits.data(), waits.size(), -1) < 0) {
      if (errno != EINTR) return false;
    }
    if (waits[0].revents == 0) return true;
    signalfd_siginfo info{};
    return ::read(signals_.get(), &info, sizeof info) != sizeof info;
  }

 private:
  termios old_{};
  sigset_t old_signals_{};
  Fd signals_;
  bool ok_ = false;
  bool changed_ = false;
};

void Show(std::string_view text) {
  // Nobody could be told that the terminal does not take it.
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

}  // namespace

bool IsAtTerminal() { return ::isatty(STDIN_FILENO) == 1; }

Result<std::string> AskHidden(const std::string& question) {
  const HiddenTyping typing;
  if (!typing.ok()) return InputError("cannot use the terminal");
  Show(question);
  if (!typing.WaitForLine()) {
    Show("\n");
    return Fail(Code::kUnknown, "interrupted");
  }
  std::array<char, kTerminalLine + 1> line{};
  const ssize_t got = ::read(STDIN_FILENO, line.data(), line.size());
  if (got < 0) return InputError("cannot read from the terminal");
  std::string text(line.data(), static_cast<std::size_t>(got));
  explicit_bzero(line.data(), line.size());
  if (text.ends_with('\n')) text.pop_back();
  if (text.size() < kTerminalLine) return text;
  Wipe(text);
  return Fail(Code::kInvalid, "a line of a terminal ends at " + std::to_string(kTerminalLine) +
                                  " bytes; give it as a file");
}

bool AskYes(const std::string& question) {
  [[maybe_unused]] const ssize_t said = ::write(STDERR_FILENO, question.data(), question.size());
  std::array<char, kTerminalLine> line{};
  ssize_t got = 0;
  do {
    got = ::read(STDIN_FILENO, line.data(), line.size());
  } while (got < 0 && errno == EINTR);
  const std::string_view answer(line.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  return answer == "y\n" || answer == "yes\n";
}

Result<std::string> ReadInput(std::size_t most) {
  return ReadFd(STDIN_FILENO, "standard input", most);
}

Result<std::string> ReadInputFile(const std::string& path, std::size_t most) {
  if (path == "-") return ReadInput(most);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return InputError("cannot read " + path);
  return ReadFd(fd.get(), path, most);
}

}  // namespace tidemill::cli
