// SPDX-License-Identifier: Apache-2.0
#include "cli/wishes.h"

#include "cli/format.h"

namespace tidemill::cli {
namespace {

std::string QueueText(const JobWishes& wishes) {
  const bool is_default = wishes.queue.empty() || wishes.queue == kDefaultQueue;
  if (is_default && wishes.priority == 0) return "";
  std::string text = is_default ? kDefaultQueue : Printable(wishes.queue);
  if (wishes.priority != 0) text += ", priority " + std::to_string(wishes.priority);
  return text;
}

std::string WantedLabelsText(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += (text.empty() ? "" : " ") + Printable(name + "=" + value);
  }
  return text;
}

std::string AfterText(const std::vector<JobId>& jobs) {
  std::string text = jobs.size() == 1 ? "job " : "jobs ";
  for (const JobId& job : jobs) {
    text += (&job == &jobs.front() ? "" : ", ") + std::to_string(job.number);
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> WishLines(const Job& job,
                                                           const Surroundings& around) {
  const JobWishes& wishes = job.spec.wishes;
  std::vector<std::pair<std::string, std::string>> lines;
  if (const std::string queue = QueueText(wishes); !queue.empty()) {
    lines.emplace_back("queue", queue);
  }
  if (!job.owner.empty()) lines.emplace_back("owner", Printable(job.owner));
  if (wishes.deadline) {
    const std::int64_t now = around.now_ms();
    const std::int64_t at = job.created_ms + wishes.deadline->count();
    lines.emplace_back("deadline", ClockText(at, now, around.zone_s) + ", " + WhenText(at, now));
  }
  if (wishes.budget) lines.emplace_back("budget", MoneyText(wishes.budget->micros));
  if (wishes.max_parallel) {
    lines.emplace_back("at most", CountOf(*wishes.max_parallel, "item") + " at a time");
  }
  if (!wishes.labels.empty()) lines.emplace_back("labels", WantedLabelsText(wishes.labels));
  if (!wishes.after.empty()) lines.emplace_back("after", AfterText(wishes.after));
  return lines;
}

}  // namespace tidemill::cli
