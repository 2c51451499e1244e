// SPDX-License-Identifier: Apache-2.0
#include "cli/bucket_view.h"

#include <utility>

#include "cli/format.h"
#include "wire/tree.h"

namespace tidemill::cli {
namespace {

Tree Text(std::string_view text) { return Tree(Tree::Value(std::string(text))); }
Tree Number(std::int64_t number) { return Tree(Tree::Value(number)); }
std::string Line(Tree::Object fields) { return FormatTreeShort(Tree(std::move(fields))); }

}  // namespace

std::string BucketLine(const std::string& job, const BucketTotals& totals, std::int64_t now_ms,
                       std::size_t columns) {
  std::string line = job + ": " + CountOf(totals.listed, "object") +
                     (totals.is_listing ? " listed so far, " : " listed, ") +
                     Thousands(totals.added) + " added, " + Thousands(totals.known) + " known";
  if (totals.waiting > 0) line += ", " + CountOf(totals.waiting, "message") + " waiting";
  if (totals.unread > 0) line += ", " + Thousands(totals.unread) + " unread";
  if (totals.unfit > 0) line += ", " + Thousands(totals.unfit) + " can be no item";
  if (totals.last_ms) line += "; last arrival " + AgoText(*totals.last_ms, now_ms);
  return Clip(line, columns);
}

bool BucketView::draws() const {
  return context_.console.out_terminal && !context_.console.json && !context_.console.quiet;
}

void BucketView::Say(const std::string& line) const {
  if (!context_.console.quiet) context_.console.Line(Clip(line, context_.console.columns));
}

void BucketView::Clear() const {
  if (draws()) context_.console.out("\r\x1b[K");
}

void BucketView::Begin(const std::string& job, bool once) {
  job_ = job;
  const Console& console = context_.console;
  if (console.json) {
    return console.Line(
        Line({{"event", Text("watching")}, {"job", Text(job_)}, {"bucket", Text(bucket_)}}));
  }
  if (console.quiet) return console.Line(job_);
  Say(job_ + " takes what arrives in " + bucket_);
  if (!once) Say("See it:  tidemill show " + job_ + "   Ctrl-C ends this");
}

void BucketView::Draw(const BucketTotals& totals) const {
  // The last column stays free: some terminals wrap when it is written.
  if (!draws()) return;
  context_.console.out("\r\x1b[K" + BucketLine(job_, totals, context_.around.now_ms(),
                                               context_.console.columns - 1));
}

void BucketView::Added(const BucketAdded& event) const {
  if (event.added == 0) return;
  const char* const by = event.by_listing ? "listing" : "messages";
  if (context_.console.json) {
    return context_.console.Line(Line({{"event", Text("added")},
                                       {"by", Text(by)},
                                       {"added", Number(event.added)},
                                       {"known", Number(event.known)}}));
  }
  if (draws()) return;
  const std::string known = event.known > 0 ? " (" + Thousands(event.known) + " known)" : "";
  Say(CountOf(event.added, "item") + " added, by " + by + known);
}

void BucketView::Listed(const BucketListed& event, bool once) {
  if (context_.console.json) {
    return context_.console.Line(Line({{"event", Text("listed")},
                                       {"objects", Number(event.objects)},
                                       {"added", Number(event.added)},
                                       {"took_ms", Number(event.took_ms)}}));
  }
  if (std::exchange(told_listing_, true) || (draws() && !once)) return;
  Clear();
  Say(CountOf(event.objects, "object") + " listed in " + DurationText(event.took_ms) + ", " +
      Thousands(event.added) + " of them new");
}

void BucketView::Trouble(std::string_view with, const std::string& reason) const {
  if (context_.console.json) {
    return context_.console.Line(
        Line({{"event", Text("trouble")}, {"with", Text(with)}, {"reason", Text(reason)}}));
  }
  Clear();
  context_.console.ErrLine("the " + std::string(with) + ": " + Printable(reason) +
                           "; trying again");
}

void BucketView::Unread(const std::string& reason) {
  if (std::exchange(told_unread_, true)) return;
  if (context_.console.json) {
    return context_.console.Line(
        Line({{"event", Text("trouble")}, {"with", Text("message")}, {"reason", Text(reason)}}));
  }
  Clear();
  context_.console.ErrLine("a message cannot be read: " + Printable(reason) +
                           "; such ones stay in the queue");
}

void BucketView::Stopped() const {
  if (context_.console.json) {
    return context_.console.Line(
        Line({{"event", Text("stopped")}, {"job", Text(job_)}, {"bucket", Text(bucket_)}}));
  }
  context_.console.ErrLine((draws() ? "\n" : "") + job_ +
                           " stays open. Watch on:  the same command" +
                           "   Close it:  tidemill close " + job_);
}

}  // namespace tidemill::cli
