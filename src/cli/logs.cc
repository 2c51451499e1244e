// SPDX-License-Identifier: Apache-2.0
#include "cli/logs.h"

#include <chrono>
#include <csignal>
#include <set>
#include <utility>

#include "cli/format.h"
#include "wire/item_json.h"
#include "wire/job_json.h"

namespace tidemill::cli {
namespace {

constexpr std::chrono::milliseconds kFollowEvery{300};
// What an item wrote last comes some seconds after its end, when we ask for it; longer: its machine
// is gone, or cannot reach the object store.
constexpr int kLooksForTheEnd = 40;
// What a running item wrote just now is stored within two seconds of being asked for.
constexpr int kLooksWhileItRuns = 8;

bool IsOver(ItemState state) {
  return state != ItemState::kWaiting && state != ItemState::kRunning;
}

// One item's log.
class LogShow {
 public:
  LogShow(const Context& context, const LogsFlags& flags) : context_(context), flags_(flags) {}

  int Run() {
    context_.client.loop().OnSignal({SIGINT, SIGTERM},
                                    [&client = context_.client](int) { client.Interrupt(); });
    int looks = 0;
    while (!context_.client.interrupted()) {
      const auto page = Ask();
      if (!page) return Explain(context_.console, context_.client, page.error());
      // Of the last lines nothing is printed before it is known which they are.
      const bool last = IsLast(*page, looks);
      if (!flags_.tail || last || flags_.follow) Print(*page, last);
      if (last) return End(*page);
      if (page->more) continue;
      ++looks;
      context_.client.Sleep(kFollowEvery);
    }
    return kInterrupted;
  }

 private:
  Result<LogPageDoc> Ask() {
    std::string query = "?follow=true";
    if (!next_.empty()) {
      query += "&after=" + PercentEncode(next_);
    } else if (flags_.attempt) {
      query += "&attempt=" + std::to_string(*flags_.attempt);
    }
    if (flags_.tail && !printed_) query += "&tail=" + std::to_string(*flags_.tail);
    TIDEMILL_TRY(const std::string body,
                 context_.client.Get(JobTarget(
                     flags_.job, "/items/" + std::to_string(*flags_.item) + "/log" + query)));
    body_ = body;
    return ParseLogPage(body);
  }

  // Whether there is nothing to wait for.
  bool IsLast(const LogPageDoc& page, int looks) const {
    if (page.more) return false;
    const bool over = IsOver(page.state);
    if (flags_.follow) {
      if (page.awaited || !over) return over && looks_over_ > kLooksForTheEnd;
      return page.ended || !page.found || looks_over_ > kLooksForTheEnd;
    }
    if (page.ended) return true;
    if (page.awaited) return looks >= kLooksForTheEnd;
    return page.state == ItemState::kRunning ? looks >= kLooksWhileItRuns : true;
  }

  void Print(const LogPageDoc& page, bool last) {
    if (IsOver(page.state) && !page.more) ++looks_over_;
    if (page.found && (page.round != round_ || page.attempt != attempt_)) {
      if (printed_) context_.console.ErrLine("-- attempt " + std::to_string(page.attempt) + " --");
      round_ = page.round;
      attempt_ = page.attempt;
    }
    if (page.found) printed_ = true;
    if (context_.console.json) {
      if (!page.parts.empty() || last) context_.console.Line(body_);
    } else {
      for (const LogPageDoc::Part& part : page.parts) context_.console.out(LogText(part));
    }
    // The next attempt, if there is one, once this is whole.
    const bool goes_on = flags_.follow && page.ended && !IsOver(page.state) && !flags_.attempt;
    next_ = page.found ? page.next : "";
    if (goes_on) ended_ = next_;
    if (!ended_.empty()) next_ = NextAttempt();
  }

  // Asks for the attempt behind the one that has ended: nothing is stored of it yet, or its
  // beginning.
  std::string NextAttempt() const {
    const auto next = ParseLogNext(ended_);
    return next && attempt_ == next->attempt && round_ == next->round
               ? FormatLogNext({next->round, next->attempt + 1, 0})
               : next_;
  }

  int End(const LogPageDoc& page) {
    if (!printed_) return SayNothingIsHere(page);
    if (page.found && !page.ended && IsOver(page.state)) {
      context_.console.ErrLine(
          "The end of this log is missing: its machine has not stored it, or was lost before.");
    }
    return kDone;
  }

  int SayNothingIsHere(const LogPageDoc& page) {
    const std::string name = "item " + std::to_string(page.item) + " of " + flags_.job;
    const std::string which =
        flags_.attempt ? "attempt " + std::to_string(*flags_.attempt) + " of " + name : name;
    if (page.awaited) {
      context_.console.ErrLine("the log of " + which +
                               " is not stored yet; if its machine was lost, it never will be");
    } else if (IsOver(page.state)) {
      context_.console.ErrLine(which + " has no log: it has written nothing");
    } else {
      context_.console.ErrLine(name + " is " + std::string(ItemStateName(page.state)) +
                               ", and nothing of " + (flags_.attempt ? "that attempt" : "it") +
                               " is stored so far");
    }
    return kNoSuchThing;
  }

  const Context& context_;
  const LogsFlags& flags_;
  std::string next_;
  std::string ended_;  // the end of the attempt that was shown last, while the next is waited for
  std::string body_;
  bool printed_ = false;
  int looks_over_ = 0;
  std::int32_t round_ = -1;
  std::int32_t attempt_ = -1;
};

int Search(const Context& context, const LogsFlags& flags) {
  const Console& console = context.console;
  const std::int64_t begun_ms = context.around.now_ms();
  std::set<std::int64_t> items;
  LogHitsDoc sum;
  std::string cursor;
  do {
    std::string query = "/logs?grep=" + PercentEncode(flags.grep);
    if (!flags.state.empty()) query += "&state=" + PercentEncode(flags.state);
    if (!cursor.empty()) query += "&cursor=" + PercentEncode(cursor);
    const auto body = context.client.Get(JobTarget(flags.job, query));
    if (!body) return Explain(console, context.client, body.error());
    if (console.json) console.Line(*body);
    const auto page = ParseLogHits(*body);
    if (!page) return Explain(console, context.client, page.error());
    for (const LogHitsDoc::Hit& hit : page->hits) {
      const bool fresh = items.insert(hit.item).second;
      if (console.quiet && fresh) console.Line(std::to_string(hit.item));
      if (console.json || console.quiet) continue;
      console.Line(std::to_string(hit.item) + "  " + TimeOfDay(hit.time_ms, context.around.zone_s) +
                   "  " + Printable(hit.line));
    }
    sum.logs += page->logs;
    sum.text_bytes += page->text_bytes;
    sum.damaged_packs += page->damaged_packs;
    cursor = page->next;
  } while (!cursor.empty());
  if (console.json || console.quiet) return kDone;
  console.ErrLine(CountOf(std::ssize(items), "item") + " (searched " + CountOf(sum.logs, "log") +
                  ", " + DecimalBytesText(sum.text_bytes) + ", in " +
                  DurationText(context.around.now_ms() - begun_ms) + ")");
  if (sum.damaged_packs > 0) {
    console.ErrLine(CountOf(sum.damaged_packs, "pack") + " of logs cannot be read");
  }
  return kDone;
}

}  // namespace

std::string LogText(const LogPageDoc::Part& part) {
  std::string text;
  if (part.lost_before) {
    text +=
        "\n[tidemill: begun again, or taken over, here; what was written just before may be "
        "missing]\n";
  }
  if (part.missing_bytes > 0) {
    text +=
        "\n[tidemill: " + CountOf(part.missing_bytes, "byte") +
        (part.over_limit ? " are left out here: the log was too long]\n" : " are missing here]\n");
  }
  return text + part.text;
}

std::string TimeOfDay(std::int64_t at_ms, std::int64_t zone_s) {
  constexpr std::int64_t kDay = 86'400;
  const std::int64_t second = ((at_ms / 1000 + zone_s) % kDay + kDay) % kDay;
  const auto two = [](std::int64_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  };
  return two(second / 3600) + ":" + two(second / 60 % 60) + ":" + two(second % 60);
}

int ShowLogs(const Context& context, const LogsFlags& flags) {
  if (!flags.grep.empty()) return Search(context, flags);
  return LogShow(context, flags).Run();
}

}  // namespace tidemill::cli
