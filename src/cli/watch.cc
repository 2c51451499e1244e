// SPDX-License-Identifier: Apache-2.0
#include "cli/watch.h"

#include <csignal>
#include <optional>
#include <utility>

#include "cli/cost.h"
#include "cli/failures.h"
#include "cli/format.h"
#include "cli/then.h"
#include "cli/watch_view.h"
#include "wire/job_json.h"
#include "wire/machine_json.h"
#include "wire/stats_json.h"
#include "wire/why_json.h"

namespace tidemill::cli {
namespace {

// The server counts anew once a second.
constexpr std::chrono::milliseconds kPoll{1'000};
// Into a file or a pipe, a line is written no more often.
constexpr std::int64_t kPlainEveryMs = 5'000;
// What machines say is shown about as often as they say it; statistics cost a server more.
constexpr std::int64_t kMachinesEveryMs = 3'000;
constexpr std::int64_t kStatsEveryMs = 10'000;
constexpr std::int64_t kCostEveryMs = 2'000;
// A server that does not say what a job costs will not do so soon.
constexpr std::int64_t kNoCostEveryMs = 30'000;
constexpr std::int64_t kWhyEveryMs = 5'000;
// Machines that are asked how far their items are: a few items are shown.
constexpr int kMostMachines = 200;
// A server that is being replaced is back sooner than this.
constexpr std::int64_t kLongestSilenceMs = 5 * 60 * 1000;

constexpr std::size_t kGroupsShown = 3;

constexpr Patience kWatchOnce{.busy = {}, .away = {}};

// Draws each frame over the one before.
class Screen {
 public:
  explicit Screen(const Console& console) : console_(console) {}

  void Draw(const std::vector<std::string>& lines) {
    std::string text = Back();
    for (const std::string& line : lines) text += line + "\n";
    drawn_ = lines.size();
    console_.out(text);
  }

 private:
  std::string Back() const {
    return drawn_ == 0 ? "" : "\x1b[" + std::to_string(drawn_) + "A\x1b[J";
  }

  const Console& console_;
  std::size_t drawn_ = 0;
};

class Watcher {
 public:
  Watcher(const Context& context, std::string job, std::string then)
      : context_(context), job_(std::move(job)), then_(std::move(then)), screen_(context.console) {}

  int Run() {
    while (true) {
      auto body = context_.client.Get(JobTarget(job_), kWatchOnce);
      if (context_.client.interrupted()) return Leave();
      if (const auto code = body ? Take(*body) : Miss(body.error())) return *code;
      if (body && Draws()) LookCloser();
      if (context_.client.interrupted()) return Leave();
      Show();
      if (view_.ended()) return End();
      if (const auto event = StandsStill()) return Then(*event);
      context_.client.Sleep(kPoll);
      if (context_.client.interrupted()) return Leave();
    }
  }

 private:
  std::int64_t Now() const {
    return context_.client.loop().Now().time_since_epoch() / std::chrono::milliseconds(1);
  }

  std::optional<int> Take(const std::string& body) {
    const auto answer = ParseJobCounts(body);
    if (!answer) return Explain(context_.console, context_.client, answer.error());
    if (told_silence_) context_.console.ErrLine("the server answers again");
    told_silence_ = false;
    view_.Add(Now(), *answer);
    if (!begun_) saw_it_run_ = !view_.ended();
    begun_ = true;
    json_ = body;
    return std::nullopt;
  }

  bool Draws() const { return context_.console.out_terminal && !context_.console.json; }

  // Only for the eye: what does not come is not shown.
  void LookCloser() {
    const std::int64_t now = Now();
    if (view_.ended() || view_.last().job.state == JobState::kDraft) return;
    if (!machines_ms_ || now - *machines_ms_ >= kMachinesEveryMs) {
      machines_ms_ = now;
      details_.progress.clear();
      details_.waits.clear();
      const auto body =
          context_.client.Get("/v1/machines?limit=" + std::to_string(kMostMachines), kWatchOnce);
      const auto machines = body ? ParseMachines(*body) : tl::unexpected(body.error());
      if (machines) AddMachines(details_, machines->machines, view_.last().job.id);
    }
    if (!stats_ms_ || now - *stats_ms_ >= kStatsEveryMs) {
      stats_ms_ = now;
      if (const auto stats = FetchStats()) details_.causes = FailuresOf(stats->attempts);
    }
    if (!cost_ms_ || now >= *cost_ms_) {
      details_.cost = FetchCost(context_.client, job_);
      cost_ms_ = now + (details_.cost ? kCostEveryMs : kNoCostEveryMs);
    }
    view_.SetDetails(details_);
  }

  std::optional<StatsAnswer> FetchStats() {
    const auto body = context_.client.Get(JobTarget(job_, "/stats"), kWatchOnce);
    if (!body) return std::nullopt;
    auto stats = ParseStats(*body);
    if (!stats) return std::nullopt;
    return *std::move(stats);
  }

  // Of the items that failed; none if nobody knows.
  std::vector<std::string> FinalFailures() {
    std::vector<std::string> lines;
    if (view_.last().counts.failed == 0) return lines;
    const auto failures = FetchFailures(context_.client, job_, kWatchOnce);
    if (!failures) return lines;
    for (const std::string& line : GroupLines(*failures, kGroupsShown)) {
      lines.push_back(Clip(line, context_.console.columns));
    }
    return lines;
  }

  std::optional<int> Miss(const Error& error) {
    const bool passing = error.code == Code::kUnavailable || error.code == Code::kUnknown ||
                         error.code == Code::kExhausted;
    if (!begun_ || !passing) return Explain(context_.console, context_.client, error, job_);
    view_.AddSilence(Now(), error.reason);
    if (view_.SilentFor(Now()).value_or(0) > kLongestSilenceMs) {
      return Explain(context_.console, context_.client, error, job_);
    }
    if (!context_.console.out_terminal && !told_silence_) {
      context_.console.ErrLine("the server does not answer (" + error.reason +
                               "); the job goes on without us, trying again");
      told_silence_ = true;
    }
    return std::nullopt;
  }

  void Show() {
    const Console& console = context_.console;
    if (console.json) return;
    const std::int64_t now = Now();
    if (console.out_terminal) {
      // The last column stays free: some terminals wrap when it is written.
      return screen_.Draw(view_.Frame(now, console.columns - 1, console.colours));
    }
    if (view_.SilentFor(now) || view_.ended()) return;
    if (shown_ms_ && now - *shown_ms_ < kPlainEveryMs) return;
    if (!view_.TakeChanged()) return;
    shown_ms_ = now;
    console.Line(view_.PlainLine(console.columns));
  }

  int End() {
    const JobCounts& last = view_.last();
    if (context_.console.json) {
      context_.console.Line(json_);
    } else {
      std::optional<std::int64_t> took;
      // Only who saw the end knows when it was.
      if (saw_it_run_ && last.job.round == 0) {
        took = context_.around.now_ms() - last.job.created_ms;
      }
      context_.console.Line(EndText(last, took, FinalFailures()));
      TellCost();
    }
    return then_.empty() ? ExitOf(last) : Then(*EventOf(last));
  }

  // Why it will not go on by itself, if somebody wants something done then.
  std::optional<JobEvent> StandsStill() {
    if (then_.empty() || !begun_ || view_.SilentFor(Now())) return std::nullopt;
    const JobCounts& last = view_.last();
    if (const auto event = EventOf(last)) return event;
    const bool may_be_out = last.job.state == JobState::kActive && last.counts.running == 0 &&
                            last.counts.waiting > 0 && last.job.spec.wishes.budget;
    if (!may_be_out || (why_ms_ && Now() < *why_ms_)) return std::nullopt;
    why_ms_ = Now() + kWhyEveryMs;
    const auto body = context_.client.Get(JobTarget(job_, "/why"), kWatchOnce);
    const auto why = body ? ParseJobWhy(*body) : tl::unexpected(body.error());
    const bool is_out = why && why->running == 0 && !why->reasons.empty() &&
                        why->reasons.front().code == JobEventName(JobEvent::kBudget);
    return is_out ? std::optional(JobEvent::kBudget) : std::nullopt;
  }

  int Then(JobEvent event) { return RunThen(context_.console, then_, event, view_.last()); }

  // What it came to; only who pays for machines hears of it.
  void TellCost() {
    const auto cost = FetchCost(context_.client, job_);
    const std::string spent = cost ? SpentText(*cost) : "";
    if (!spent.empty()) context_.console.Line("  " + spent);
  }

  int Leave() {
    const std::string id = begun_ ? PublicId(view_.last().job) : job_;
    context_.console.ErrLine((context_.console.err_terminal ? "\n" : "") + id +
                             " goes on. See it again:  tidemill watch " + id +
                             "   Stop it:  tidemill cancel " + id);
    return kInterrupted;
  }

  const Context& context_;
  const std::string job_;
  const std::string then_;  // a command; empty: none
  Screen screen_;
  WatchView view_;
  std::string json_;
  bool begun_ = false;
  bool saw_it_run_ = false;
  bool told_silence_ = false;
  std::optional<std::int64_t> shown_ms_;
  std::optional<std::int64_t> machines_ms_;
  std::optional<std::int64_t> stats_ms_;
  std::optional<std::int64_t> cost_ms_;  // when it is asked for again
  std::optional<std::int64_t> why_ms_;   // likewise
  WatchDetails details_;
};

}  // namespace

int Watch(const Context& context, const std::string& job, const std::string& then) {
  context.client.loop().OnSignal({SIGINT, SIGTERM},
                                 [&client = context.client](int) { client.Interrupt(); });
  return Watcher(context, job, then).Run();
}

}  // namespace tidemill::cli
