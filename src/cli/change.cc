// SPDX-License-Identifier: Apache-2.0
#include "cli/change.h"

#include <functional>
#include <optional>

#include "cli/failures.h"
#include "cli/format.h"
#include "wire/job_json.h"
#include "wire/submit_json.h"

namespace tidemill::cli {
namespace {

int Change(const Context& context, const std::string& job, const std::string& verb,
           const std::function<std::string(const Job&)>& told) {
  const Console& console = context.console;
  const auto body = context.client.Post(JobTarget(job, "/" + verb), "");
  if (!body) return Explain(console, context.client, body.error(), job);
  if (console.json) {
    console.Line(*body);
    return kDone;
  }
  const auto changed = ParseJob(*body);
  if (!changed) return Explain(console, context.client, changed.error());
  console.Line(console.quiet ? PublicId(*changed) : told(*changed));
  return kDone;
}

// What the group of this number is by now. The retry goes by that, not by the number: whatever
// fails meanwhile may change the order of groups.
std::optional<int> FindGroup(const Context& context, const RetryFlags& flags,
                             RetryRequest& request) {
  const Console& console = context.console;
  const auto summary = FetchFailures(context.client, flags.job);
  if (!summary) return Explain(console, context.client, summary.error(), flags.job);
  const auto number = static_cast<std::size_t>(flags.group);
  if (number > summary->groups.size()) {
    console.ErrLine("there is no group " + std::to_string(number) + ": " + flags.job + " has " +
                    CountOf(static_cast<std::int64_t>(summary->groups.size()), "group") +
                    " of failures.  See them:  tidemill failures " + flags.job);
    return kNoSuchThing;
  }
  const FailureGroup& group = summary->groups[number - 1];
  if (!console.json && !console.quiet) {
    console.Line(
        Wrap("group " + std::to_string(number) + " is " + GroupText(group), console.columns));
  }
  request.group = group.key;
  return std::nullopt;
}

}  // namespace

int CancelJob(const Context& context, const std::string& job) {
  return Change(context, job, "cancel", [](const Job& changed) {
    const std::string id = PublicId(changed);
    if (changed.state == JobState::kCancelled) return id + " is cancelled";
    return id + " is being cancelled: what runs is stopped, nothing new starts";
  });
}

int PauseJob(const Context& context, const std::string& job) {
  return Change(context, job, "pause", [](const Job& changed) {
    const std::string id = PublicId(changed);
    return id +
           " is paused: what runs goes on, nothing new starts\nGo on with it:  tidemill resume " +
           id;
  });
}

int CloseJob(const Context& context, const std::string& job) {
  return Change(context, job, "close", [](const Job& changed) {
    return PublicId(changed) + " takes no more items, and ends when those that it has are done";
  });
}

int ResumeJob(const Context& context, const std::string& job) {
  return Change(context, job, "resume", [](const Job& changed) {
    const std::string id = PublicId(changed);
    return id + " goes on\nFollow it with:  tidemill watch " + id;
  });
}

int RetryJob(const Context& context, const RetryFlags& flags) {
  const Console& console = context.console;
  const std::string& job = flags.job;
  RetryRequest request{.items = flags.items};
  if (flags.group > 0) {
    if (const auto code = FindGroup(context, flags, request)) return *code;
  }
  const auto body = context.client.Post(JobTarget(job, "/retry"), FormatRetry(request));
  if (!body) return Explain(console, context.client, body.error(), job);
  if (console.json) {
    console.Line(*body);
    return kDone;
  }
  const auto reopened = ParseReopened(*body);
  if (!reopened) return Explain(console, context.client, reopened.error());
  if (console.quiet) {
    console.Line(job);
  } else if (reopened->items == 0) {
    console.Line(flags.items.empty() ? "nothing to retry: no item of " + job + " has failed" +
                                           (flags.group > 0 ? " so" : "")
                                     : "nothing to retry: none of these items is done");
  } else {
    console.Line(CountOf(reopened->items, "item") + " of " + job +
                 (reopened->items == 1 ? " waits" : " wait") +
                 " again\nFollow it with:  tidemill watch " + job);
  }
  return kDone;
}

}  // namespace tidemill::cli
