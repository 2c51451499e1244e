// SPDX-License-Identifier: Apache-2.0
#include "cli/logs.h"

#include <csignal>
#include <utility>

#include "cli/format.h"
#include "cli/items.h"
#include "cli/log_reader.h"
#include "wire/job_json.h"

namespace tidemill::cli {
namespace {

constexpr std::chrono::milliseconds kLookEvery{500};
// How many looks at the disk go with one question to the server.
constexpr int kLooksPerAsk = 4;
// The last piece may come a little after the outcome, or never: a machine that was lost wrote none.
constexpr int kLooksAfter = 4;

bool IsOver(const ListedItem& item) {
  return item.state != ItemState::kWaiting && item.state != ItemState::kRunning;
}

// One item's log, from the packs on this machine's disk.
class LogShow {
 public:
  LogShow(const Context& context, const LogsFlags& flags, const Job& job)
      : context_(context),
        flags_(flags),
        id_(PublicId(job)),
        folder_(flags.agent_state / "logs" / std::to_string(job.id.number)) {}

  int Run() {
    if (!Choose()) return Explain(context_.console, context_.client, fault_);
    if (!chosen_ && !flags_.follow) return SayNothingIsHere();
    if (flags_.follow) return Follow();
    LogReader reader(folder_);
    LineTail tail(static_cast<std::size_t>(flags_.tail.value_or(0)));
    const auto read = reader.ReadNew(flags_.item, [&](const LogPiece& piece) {
      if (std::pair(piece.round, piece.attempt) != *chosen_) return;
      if (flags_.tail) {
        tail.Add(TextOf(piece));
      } else {
        context_.console.out(TextOf(piece));
      }
    });
    if (!read) return Damaged(read.error());
    context_.console.out(tail.Text());
    return kDone;
  }

 private:
  using Try = std::pair<std::int32_t, std::int32_t>;  // round and attempt

  static std::string TextOf(const LogPiece& piece) {
    return piece.has_hole ? "\n[something was left out here: it was too much]\n" + piece.bytes
                          : piece.bytes;
  }

  // Which attempt is shown. False: a pack cannot be read.
  bool Choose() {
    if (flags_.agent_state.empty()) return true;
    LogReader reader(folder_);
    const auto read = reader.ReadNew(flags_.item, [&](const LogPiece& piece) {
      const Try one(piece.round, piece.attempt);
      if (flags_.attempt && piece.attempt != *flags_.attempt) return;
      if (!chosen_ || one > *chosen_) chosen_ = one;
    });
    if (!read) fault_ = read.error();
    return read.has_value();
  }

  int Damaged(const Error& error) {
    context_.console.ErrLine(error.reason);
    return kFailed;
  }

  int SayNothingIsHere() {
    const auto item = FindItem(context_.client, flags_.job, flags_.item);
    if (!item) return Explain(context_.console, context_.client, item.error(), flags_.job);
    context_.console.ErrLine(WhyNot(*item));
    return kNoSuchThing;
  }

  std::string WhyNot(const std::optional<ListedItem>& item) const {
    const std::string name = "item " + std::to_string(flags_.item) + " of " + id_;
    if (!item) return "there is no " + name;
    if (item->outcome && flags_.attempt && item->attempts < *flags_.attempt) {
      return name + " has had " + CountOf(item->attempts, "attempt") + " so far";
    }
    if (item->outcome) {
      return name + " has no log on this machine. It last ran on " +
             Printable(item->outcome->machine) +
             ":\nif it wrote anything, read it there with --state-folder DIR (the agent's --state)";
    }
    return name + " is " + std::string(ItemStateName(item->state)) +
           " and has written nothing on this machine";
  }

  // Prints the pieces of the newest attempt as they come, and of those that follow it.
  int Follow() {
    context_.client.loop().OnSignal({SIGINT, SIGTERM},
                                    [&client = context_.client](int) { client.Interrupt(); });
    LogReader reader(folder_);
    bool closed = false;
    int looks_after = 0;
    for (int look = 0; !context_.client.interrupted(); ++look) {
      if (looks_after == 0 && (closed || look % kLooksPerAsk == 0)) {
        const auto item = FindItem(context_.client, flags_.job, flags_.item);
        if (!item) return Explain(context_.console, context_.client, item.error(), flags_.job);
        if (!*item) return SayNothingIsHere();
        if (IsOver(**item)) looks_after = 1;
      }
      if (const auto read = Print(reader, closed); !read) return Damaged(read.error());
      if (looks_after > 0 && (closed || ++looks_after > kLooksAfter)) {
        return chosen_ ? kDone : SayNothingIsHere();
      }
      context_.client.Sleep(kLookEvery);
    }
    return kInterrupted;
  }

  Result<bool> Print(LogReader& reader, bool& closed) {
    return reader.ReadNew(flags_.item, [&](const LogPiece& piece) {
      const Try one(piece.round, piece.attempt);
      if (flags_.attempt && piece.attempt != *flags_.attempt) return;
      if (chosen_ && one < *chosen_) return;
      if (chosen_ && one > *chosen_) {
        context_.console.ErrLine("-- attempt " + std::to_string(piece.attempt) + " --");
      }
      chosen_ = one;
      closed = piece.last;
      context_.console.out(TextOf(piece));
    });
  }

  const Context& context_;
  const LogsFlags& flags_;
  const std::string id_;
  const std::filesystem::path folder_;
  std::optional<Try> chosen_;
  Error fault_;
};

}  // namespace

int ShowLogs(const Context& context, const LogsFlags& flags) {
  const auto body = context.client.Get(JobTarget(flags.job));
  if (!body) return Explain(context.console, context.client, body.error(), flags.job);
  const auto job = ParseJob(*body);
  if (!job) return Explain(context.console, context.client, job.error());
  if (flags.item < 0 || flags.item >= job->items) {
    context.console.ErrLine("there is no item " + std::to_string(flags.item) + " of " +
                            PublicId(*job) + "; it has " + CountOf(job->items, "item") +
                            ", counted from 0");
    return kNoSuchThing;
  }
  return LogShow(context, flags, *job).Run();
}

void LineTail::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view line = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
    bytes.remove_prefix(line.size());
    if (kept_.empty() || kept_.back().ends_with('\n')) kept_.emplace_back();
    kept_.back() += line;
    bytes_ += line.size();
    while (kept_.size() > lines_ || (bytes_ > kMostBytes && kept_.size() > 1)) {
      bytes_ -= kept_.front().size();
      kept_.pop_front();
    }
  }
}

std::string LineTail::Text() const {
  std::string text;
  for (const std::string& line : kept_) text += line;
  return text;
}

}  // namespace tidemill::cli
