// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_view.h"

#include <algorithm>
#include <utility>

#include "cli/console.h"
#include "cli/cost.h"
#include "cli/format.h"
#include "cli/table.h"

namespace tidemill::cli {
namespace {

constexpr std::int64_t kRateWindowMs = 30'000;
// A rate of less is noise.
constexpr std::int64_t kLeastRateMs = 2'000;
// A job that has not started yet is no news; one that still has not is.
constexpr std::int64_t kIdleHintMs = 10'000;
constexpr std::size_t kLeastBar = 10;
constexpr std::size_t kWidestBar = 48;

std::int64_t DoneOf(const Counts& counts) {
  return counts.succeeded + counts.failed + counts.cancelled;
}

std::string Repeat(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::vector<Cell> CountSpans(const Counts& counts) {
  std::vector<Cell> spans;
  const auto add = [&](const char* name, std::int64_t number, Colour colour, bool always) {
    if (number == 0 && !always) return;
    spans.emplace_back(spans.empty() ? "  " : "   ");
    spans.emplace_back(std::string(name) + " " + Thousands(number),
                       number == 0 ? Colour::kPlain : colour);
  };
  add("succeeded", counts.succeeded, Colour::kGreen, true);
  add("failed", counts.failed, Colour::kRed, true);
  add("running", counts.running, Colour::kPlain, true);
  add("waiting", counts.waiting, Colour::kPlain, true);
  add("cancelled", counts.cancelled, Colour::kYellow, false);
  return spans;
}

std::string MemoryText(const Job& job) {
  const std::int64_t asked = job.spec.resources.memory_bytes;
  if (asked == 0 || job.memory_bytes <= asked) return "";
  return "memory raised to " + BytesText(job.memory_bytes) + " an item: " + BytesText(asked) +
         " was not enough for many";
}

}  // namespace

std::string Bar(std::int64_t done, std::int64_t total, std::size_t width, bool colours) {
  // Full only when all is done, begun as soon as anything is.
  std::size_t full =
      total <= 0 ? 0
                 : static_cast<std::size_t>(static_cast<double>(done) / static_cast<double>(total) *
                                            static_cast<double>(width));
  full = std::min(full, width);
  if (full == width && done < total) full = width - 1;
  const bool tip = full < width && full > 0;
  const std::string rest = (tip ? "╺" : "") + Repeat("━", width - full - (tip ? 1 : 0));
  if (!colours) return Repeat("━", full) + Repeat("─", width - full);
  return Paint(true, Colour::kGreen, Repeat("━", full)) + Paint(true, Colour::kDim, rest);
}

void WatchView::Add(std::int64_t now_ms, const JobCounts& answer) {
  const auto idle = [](const Counts& counts) { return counts.running == 0 && counts.waiting > 0; };
  const bool was_idle = !points_.empty() && idle(last().counts);
  const bool moved = !points_.empty() && DoneOf(last().counts) != DoneOf(answer.counts);
  if (!was_idle || moved) idle_since_ms_ = now_ms;
  // A retry puts items back: what was done before says nothing of the rate.
  if (!points_.empty() &&
      (last().job.round != answer.job.round || DoneOf(answer.counts) < DoneOf(last().counts))) {
    points_.clear();
  }
  silent_since_ms_.reset();
  points_.push_back({now_ms, answer});
  while (points_.size() > 2 && points_[1].at_ms <= now_ms - kRateWindowMs) points_.pop_front();
}

void WatchView::AddSilence(std::int64_t now_ms, std::string reason) {
  if (!silent_since_ms_) silent_since_ms_ = now_ms;
  silence_ = std::move(reason);
}

std::optional<std::int64_t> WatchView::SilentFor(std::int64_t now_ms) const {
  if (!silent_since_ms_) return std::nullopt;
  return now_ms - *silent_since_ms_;
}

bool WatchView::ended() const {
  const JobState state = last().job.state;
  return state == JobState::kFinished || state == JobState::kCancelled;
}

std::optional<double> WatchView::Rate() const {
  if (points_.size() < 2) return std::nullopt;
  const std::int64_t time = points_.back().at_ms - points_.front().at_ms;
  const std::int64_t done =
      DoneOf(points_.back().answer.counts) - DoneOf(points_.front().answer.counts);
  if (time < kLeastRateMs || done <= 0) return std::nullopt;
  return static_cast<double>(done) * 1000 / static_cast<double>(time);
}

std::optional<std::int64_t> WatchView::LeftMs() const {
  const auto rate = Rate();
  const Counts& counts = last().counts;
  const std::int64_t left = counts.running + counts.waiting;
  if (!rate || left == 0) return std::nullopt;
  return static_cast<std::int64_t>(static_cast<double>(left) * 1000 / *rate);
}

// The server knows of machines that are on their way; without it, by the rate alone.
std::string WatchView::LeftText() const {
  const bool is_told = details_.cost && details_.cost->forecast && !ended();
  if (is_told) return TimeLeftText(*details_.cost);
  const auto left = LeftMs();
  return left ? DurationText(*left) + " left" : "";
}

std::vector<std::string> WatchView::Hints(std::int64_t now_ms) const {
  const Job& job = last().job;
  const Counts& counts = last().counts;
  const std::string id = PublicId(job);
  if (silent_since_ms_) {
    return {"  the server has not answered for " + DurationText(now_ms - *silent_since_ms_) + " (" +
            silence_ + "); the job goes on without us"};
  }
  switch (job.state) {
    case JobState::kPaused:
      return {"  paused" + (job.reason.empty() ? "" : ": " + Printable(job.reason)),
              "  Go on with it:  tidemill resume " + id};
    case JobState::kDraft:
      return {"  a draft: its items are still being sent"};
    case JobState::kCancelling:
      return {"  being cancelled: what runs is stopped"};
    default:
      break;
  }
  if (job.trial && counts.succeeded == 0 && counts.running > 0 && job.spec.canary > 0) {
    return {"  on trial: at most " + CountOf(job.spec.canary, "item") +
            " at a time until one has succeeded"};
  }
  const bool held_up = counts.running == 0 && !details_.waits.empty();
  if (held_up || counts.running > 0 || counts.waiting == 0 || now_ms - idle_since_ms_ < kIdleHintMs)
    return {};
  return {"  nothing runs.  Ask why:  tidemill why " + id};
}

std::vector<std::string> WatchView::Frame(std::int64_t now_ms, std::size_t width,
                                          bool colours) const {
  const Counts& counts = last().counts;
  const std::string id = PublicId(last().job);
  const std::int64_t done = DoneOf(counts);
  const std::string tail = "  " + Thousands(done) + " / " + Thousands(counts.total) + "  " +
                           PercentText(done, counts.total);
  std::vector<std::string> lines;
  const std::size_t used = WidthOf(id) + 2 + WidthOf(tail);
  if (width >= used + kLeastBar) {
    lines.push_back(Paint(colours, Colour::kBold, id) + "  " +
                    Bar(done, counts.total, std::min(width - used, kWidestBar), colours) + tail);
  } else {
    lines.push_back(FormatSpans({Cell(id, Colour::kBold), tail}, width, colours));
  }
  lines.push_back(FormatSpans(CountSpans(counts), width, colours));
  std::vector<Cell> pace;
  if (const auto rate = Rate()) pace.emplace_back("  rate " + RateText(*rate));
  if (const std::string left = LeftText(); !left.empty()) {
    pace.emplace_back((pace.empty() ? "  " : "   ") + left);
  }
  if (!pace.empty()) lines.push_back(FormatSpans(pace, width, colours));
  if (const std::string grown = MemoryText(last().job); !grown.empty()) {
    lines.push_back(Clip("  " + grown, width));
  }
  if (!ended()) {
    for (std::string& line : DetailLines(details_, width, colours))
      lines.push_back(std::move(line));
  }
  for (const std::string& hint : Hints(now_ms)) {
    lines.push_back(FormatSpans({Cell(hint, Colour::kYellow)}, width, colours));
  }
  return lines;
}

std::string WatchView::PlainLine(std::size_t width) const {
  const Counts& counts = last().counts;
  const std::int64_t done = DoneOf(counts);
  std::string line = PublicId(last().job) + "  " + Thousands(done) + " / " +
                     Thousands(counts.total) + "  " + PercentText(done, counts.total) +
                     "  failed " + Thousands(counts.failed) + "  running " +
                     Thousands(counts.running);
  if (const auto rate = Rate()) line += "  " + RateText(*rate);
  if (const auto left = LeftMs()) line += "  " + DurationText(*left) + " left";
  if (last().job.state == JobState::kPaused) {
    line += "  paused" + (last().job.reason.empty() ? "" : ": " + Printable(last().job.reason));
  }
  return Clip(line, width);
}

bool WatchView::TakeChanged() {
  const Counts& c = last().counts;
  std::string now = std::string(JobStateName(last().job.state));
  for (const std::int64_t number : {c.succeeded, c.failed, c.running, c.waiting, c.cancelled}) {
    now += " " + std::to_string(number);
  }
  return std::exchange(shown_, now) != now;
}

std::string EndText(const JobCounts& ended, std::optional<std::int64_t> took_ms,
                    const std::vector<std::string>& failures) {
  const Counts& counts = ended.counts;
  const std::string id = PublicId(ended.job);
  std::string text = id + " " + std::string(JobStateName(ended.job.state)) + ": ";
  if (counts.failed == 0 && counts.cancelled == 0) {
    text += counts.total == 1 ? "its item succeeded"
                              : "all " + CountOf(counts.total, "item") + " succeeded";
  } else {
    text += Thousands(counts.succeeded) + " succeeded, " + Thousands(counts.failed) + " failed";
    if (counts.cancelled > 0) text += ", " + Thousands(counts.cancelled) + " cancelled";
  }
  if (took_ms) text += ", in " + DurationText(*took_ms);
  for (const std::string& line : failures) text += "\n" + line;
  if (counts.failed > 0) text += "\nLook:  tidemill failures " + id;
  return text;
}

int ExitOf(const JobCounts& ended) {
  if (ended.job.state == JobState::kCancelled) return kCancelled;
  return ended.counts.failed > 0 ? kFailed : kDone;
}

}  // namespace tidemill::cli
