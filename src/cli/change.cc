// SPDX-License-Identifier: Apache-2.0
#include "cli/change.h"

#include <functional>

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

int ResumeJob(const Context& context, const std::string& job) {
  return Change(context, job, "resume", [](const Job& changed) {
    const std::string id = PublicId(changed);
    return id + " goes on\nFollow it with:  tidemill watch " + id;
  });
}

int RetryJob(const Context& context, const std::string& job,
             const std::vector<std::int64_t>& items) {
  const Console& console = context.console;
  const auto body = context.client.Post(JobTarget(job, "/retry"), FormatRetry(items));
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
    console.Line("nothing to retry: no item of " + job + " has failed");
  } else {
    console.Line(CountOf(reopened->items, "item") + " of " + job +
                 (reopened->items == 1 ? " waits" : " wait") +
                 " again\nFollow it with:  tidemill watch " + job);
  }
  return kDone;
}

}  // namespace tidemill::cli
