// SPDX-License-Identifier: Apache-2.0
#include "cli/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/fd.h"

namespace tidemill::cli {
namespace {

// More than any answer that is kept; what comes after it is dropped.
constexpr std::size_t kKeptBytes = 16 << 20;

Error CannotRun(const std::string& program, int error) {
  return {Code::kInternal, "cannot run " + program + ": " + std::strerror(error)};
}

// As system calls take them; they point into `words`.
std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

class SpawnFiles {
 public:
  SpawnFiles() { posix_spawn_file_actions_init(&files_); }
  ~SpawnFiles() { posix_spawn_file_actions_destroy(&files_); }
  SpawnFiles(const SpawnFiles&) = delete;
  SpawnFiles& operator=(const SpawnFiles&) = delete;

  void Use(int fd, int as) { posix_spawn_file_actions_adddup2(&files_, fd, as); }
  const posix_spawn_file_actions_t* get() const { return &files_; }

 private:
  posix_spawn_file_actions_t files_;
};

std::string ReadAll(int fd) {
  std::string out;
  std::array<char, 64 << 10> piece;
  while (true) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return out;
    if (out.size() < kKeptBytes) out.append(piece.data(), static_cast<std::size_t>(got));
  }
}

int WaitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<ProgramEnd> RunProgram(const ProgramPlan& plan) {
  const Fd input(
      ::open(plan.input.empty() ? "/dev/null" : plan.input.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<int, 2> pipe{-1, -1};
  if (!input || ::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    return tl::unexpected(CannotRun(plan.words[0], errno));
  }
  const Fd reader(pipe[0]);
  Fd writer(pipe[1]);
  SpawnFiles files;
  if (!plan.is_interactive) {
    files.Use(input.get(), STDIN_FILENO);
    files.Use(plan.keeps ? writer.get() : STDERR_FILENO, STDOUT_FILENO);
  }
  std::vector<std::string> words = plan.words;
  const std::vector<char*> arguments = Pointers(words);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, arguments[0], files.get(), nullptr, arguments.data(), environ);
  if (error != 0) return tl::unexpected(CannotRun(plan.words[0], error));
  writer = Fd();
  ProgramEnd end;
  end.out = ReadAll(reader.get());
  end.exit = WaitFor(child);
  return end;
}

Error BecomeProgram(std::vector<std::string> words, const std::vector<Variable>& variables) {
  for (const Variable& one : variables) ::setenv(one.name.c_str(), one.value.c_str(), 1);
  ::execv(words[0].c_str(), Pointers(words).data());
  return CannotRun(words[0], errno);
}

}  // namespace tidemill::cli
