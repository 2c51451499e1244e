// SPDX-License-Identifier: Apache-2.0
#include "agent/stream_book.h"

#include <algorithm>
#include <utility>

#include "frame/stream.h"
#include "wire/stream_json.h"

namespace tidemill {

void StreamBook::Take(const std::vector<AskedStream>& asked) {
  if (agent_.deps.streams == nullptr) return;
  for (const AskedStream& one : asked) {
    if (IsNew(one.id)) TakeUp(one);
  }
}

bool StreamBook::IsNew(StreamId id) {
  const TimePoint now = agent_.deps.loop.Now();
  std::erase_if(seen_, [now](const Seen& seen) { return now - seen.at >= kSeenFor; });
  const bool is_new = std::erase_if(seen_, [id](const Seen& seen) { return seen.id == id; }) == 0;
  if (seen_.size() >= kSeenMost) seen_.pop_front();
  seen_.push_back({id, now});
  return is_new;
}

void StreamBook::TakeUp(const AskedStream& asked) {
  StreamLink& link = *agent_.deps.streams;
  const Result<StreamAsk> ask = ParseStreamAsk(asked.ask);
  const std::string why_not = ask ? WhyNot(asked) : ask.error().reason;
  if (!why_not.empty()) return link.Refuse(agent_.pass, asked.id, why_not);
  ++connecting_;
  link.Connect(agent_.pass, asked.id,
               [this, asked, ask = *ask,
                alive = std::weak_ptr<char>(alive_)](Result<std::unique_ptr<ByteStream>> person) {
                 if (alive.expired()) return;
                 --connecting_;
                 if (person) return Join(asked, ask, *std::move(person));
                 agent_.deps.log.Warn("stream.not_connected", {{"job", asked.job.number},
                                                               {"item", asked.item},
                                                               {"reason", person.error().reason}});
               });
}

std::string StreamBook::WhyNot(const AskedStream& asked) const {
  if (!agent_.options.streams) {
    return "streams are not allowed on this machine (tidemill-agent --no-shell)";
  }
  if (open_.size() + connecting_ >= kMost) {
    return std::to_string(kMost) + " streams are open on its machine already";
  }
  const auto found = agent_.slots.WhereIs(asked.job, asked.item);
  const bool is_ours = found && agent_.work.Runs(found->attempt.key);
  if (is_ours && found->begun) {
    if (found->streams < frame::kStreamsMost) return {};
    return std::to_string(frame::kStreamsMost) + " streams are open into its container already";
  }
  const std::string item = "item " + std::to_string(asked.item);
  const Work::ItemState state = agent_.work.StateOf(asked.job, asked.item);
  if (is_ours || state == Work::ItemState::kWaits) {
    return item + " has not begun yet: it waits behind others on its machine";
  }
  if (!found && state == Work::ItemState::kRuns) {
    return item + " is not running just now: its inputs are being fetched, or its outputs stored";
  }
  return item + " is not running on this machine (any more)";
}

// Its item may have ended while the two were connected.
void StreamBook::Join(const AskedStream& asked, const StreamAsk& ask,
                      std::unique_ptr<ByteStream> person) {
  const StreamId id = asked.id;
  const auto found = agent_.slots.WhereIs(asked.job, asked.item);
  if (!found || !found->begun || !agent_.work.Runs(found->attempt.key)) {
    person->Send(frame::EncodeOver(0, {.with_item = true}));
    return person->Finish();
  }
  agent_.deps.log.Info("stream.opened",
                       {{"job", asked.job.number}, {"item", asked.item}, {"stream", ToString(id)}});
  const auto carrier = std::make_shared<StreamCarrier>(
      agent_.deps.loop, agent_.slots, std::move(person), [this, id] { open_.erase(id); });
  open_[id] = carrier;
  carrier->Begin(found->attempt.key, StartOf(ask, found->attempt));
}

StreamStart StreamBook::StartOf(const StreamAsk& ask, const Attempt& attempt) const {
  StreamStart start;
  start.port = ask.port;
  if (ask.port != 0) return start;
  start.command = ask.command.empty() ? ShellCommand() : ask.command;
  start.terminal = ask.terminal;
  start.rows = ask.rows;
  start.columns = ask.columns;
  start.env = EnvOf(attempt);
  if (ask.term.empty()) return start;
  std::erase_if(start.env, [](const std::string& one) { return one.starts_with("TERM="); });
  start.env.push_back("TERM=" + ask.term);
  return start;
}

std::vector<std::string> StreamBook::EnvOf(const Attempt& attempt) const {
  const JobId job = attempt.chunk.job;
  if (!agent_.catalog.Has(attempt.chunk)) return {};
  const bool is_loop = agent_.catalog.JobOf(job).program.has_value();
  Result<ItemRun> run = is_loop ? agent_.catalog.MakeProgram(job) : agent_.catalog.Make(attempt);
  if (!run) return {};
  add_(job, *run);
  return std::move(run->env);
}

}  // namespace tidemill
