// SPDX-License-Identifier: Apache-2.0
#include "cli/then.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "cli/format.h"

namespace tidemill::cli {
namespace {

// Our own environment, with these in it.
std::vector<char*> EnvironmentWith(std::vector<std::string>& added) {
  std::vector<char*> all;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text(*one);
    const std::string_view name = text.substr(0, text.find('='));
    const bool is_ours = std::any_of(added.begin(), added.end(), [name](const std::string& ours) {
      return std::string_view(ours).substr(0, ours.find('=')) == name;
    });
    if (!is_ours) all.push_back(*one);
  }
  for (std::string& ours : added) all.push_back(ours.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

std::vector<std::string> ThenVariables(JobEvent event, const JobCounts& job) {
  const Counts& counts = job.counts;
  return {"TIDEMILL_JOB=" + PublicId(job.job),
          "TIDEMILL_EVENT=" + std::string(JobEventName(event)),
          "TIDEMILL_STATE=" + std::string(JobStateName(job.job.state)),
          "TIDEMILL_REASON=" + job.job.reason,
          "TIDEMILL_TOTAL=" + std::to_string(counts.total),
          "TIDEMILL_SUCCEEDED=" + std::to_string(counts.succeeded),
          "TIDEMILL_FAILED=" + std::to_string(counts.failed),
          "TIDEMILL_RUNNING=" + std::to_string(counts.running),
          "TIDEMILL_WAITING=" + std::to_string(counts.waiting),
          "TIDEMILL_CANCELLED=" + std::to_string(counts.cancelled)};
}

int RunThen(const Console& console, const std::string& command, JobEvent event,
            const JobCounts& job) {
  std::vector<std::string> added = ThenVariables(event, job);
  const std::vector<char*> environment = EnvironmentWith(added);
  std::string shell = "sh";
  std::string flag = "-c";
  std::string text = command;
  char* const arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, "/bin/sh", nullptr, nullptr, arguments, environment.data());
  if (error != 0) {
    console.ErrLine(std::string("cannot run /bin/sh: ") + std::strerror(error));
    return kFailed;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return kFailed;
  }
  constexpr int kSignalled = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

std::string ToldText(const std::vector<Notification>& all) {
  std::int64_t delivered = 0;
  std::int64_t due = 0;
  std::int64_t given_up = 0;
  std::string why;
  for (const Notification& one : all) {
    if (one.state == NotificationState::kDelivered) ++delivered;
    if (one.state == NotificationState::kDue) ++due;
    if (one.state == NotificationState::kGivenUp) ++given_up;
    if (!one.error.empty()) why = one.error;
  }
  std::string text;
  const auto add = [&text](std::int64_t count, const char* what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + Thousands(count) + what;
  };
  add(delivered, " delivered");
  add(due, " to be tried");
  add(given_up, " given up");
  if (!why.empty()) text += " (" + Printable(why) + ")";
  return text;
}

}  // namespace tidemill::cli
