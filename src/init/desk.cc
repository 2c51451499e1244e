// SPDX-License-Identifier: Apache-2.0
#include "init/desk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "init/bodies.h"
#include "init/clocks.h"

namespace tidemill::init {
namespace {

constexpr std::uint64_t kWaitMostMs = 60'000;
// Shorter than what HTTP clients wait for an answer by themselves, and long enough that a program
// that leaves it out does not ask all the time.
constexpr std::uint64_t kWaitMs = 20'000;
constexpr std::size_t kEarlyOutputBytes = 64 * 1024;
constexpr std::int64_t kMemoryEveryUs = 100'000;
constexpr char kEarlyOutputCut[] =
    "tidemill: the program printed more than 64 KiB before it took an item; the rest is dropped\n";
constexpr char kNoResult[] = "tidemill: the program ended without a result for this item\n";

bool Failed(const frame::End& end) { return end.exit != 0 || end.signal != 0; }

}  // namespace

// --- what the agent and the loop say ---

bool Desk::Add(std::uint64_t number, std::string_view payload) {
  const auto item = frame::DecodeItem(payload);
  if (!item || !is_loop_ || no_more_) return false;
  return shelf_.Add({.number = number,
                     .name = item->name,
                     .timeout_us = item->timeout_us,
                     .grace_us = item->grace_us,
                     .alone = item->alone,
                     .json = std::string(item->json),
                     .tag = std::string(item->tag)});
}

std::optional<std::int64_t> Desk::Stop(std::uint64_t number) {
  if (const auto dropped = shelf_.Drop(number)) {
    link_.PutEnd({number, dropped->tag}, {.skipped = true});
    return std::nullopt;
  }
  HeldItem* const item = shelf_.Find(number);
  if (item == nullptr || item->stopped || item->timed_out) return std::nullopt;
  item->stopped = true;
  return item->grace_us;
}

std::int64_t Desk::deadline_us() const {
  std::int64_t first = shelf_.deadline_us();
  for (const Wish& wish : wishes_) first = std::min(first, wish.until_us);
  return first;
}

std::vector<AgentLink::Have> Desk::Runs() const {
  std::vector<AgentLink::Have> runs;
  for (const HeldItem& item : shelf_.held()) runs.push_back({item.number, item.tag});
  for (const WaitingItem& item : shelf_.waiting()) runs.push_back({item.number, item.tag});
  return runs;
}

void Desk::OnStarted(pid_t pid) {
  pid_ = pid;
  asked_ = false;
  has_taken_ = false;
  oom_kills_before_ = oom_kills_.Count();
  cpu_us_ = 0;
  memory_bytes_ = 0;
  memory_seen_us_ = 0;
  early_output_.clear();
  early_output_cut_ = false;
}

void Desk::PutLog(std::uint64_t number, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, frame::kPayloadToAgent);
    link_.Put(frame::EncodeLog(number, piece));
    bytes.remove_prefix(piece.size());
  }
}

void Desk::OnOutput(std::string_view bytes) {
  if (!shelf_.held().empty()) return PutLog(shelf_.held().front().number, bytes);
  const std::size_t room = kEarlyOutputBytes - early_output_.size();
  early_output_.append(bytes.substr(0, room));
  if (bytes.size() > room) early_output_cut_ = true;
}

void Desk::PutEarlyOutput(std::uint64_t number) {
  PutLog(number, std::exchange(early_output_, {}));
  if (std::exchange(early_output_cut_, false)) PutLog(number, kEarlyOutputCut);
}

void Desk::OnEnded(const frame::End& end) {
  wishes_.clear();
  pid_ = 0;
  std::vector<HeldItem> held = shelf_.ReleaseAll();
  const bool ended_by_us = std::any_of(held.begin(), held.end(), [](const HeldItem& item) {
    return item.timed_out || item.stopped;
  });
  // The time of a batch is over for all of it at once: nobody knows which of them took it.
  const auto late =
      std::count_if(held.begin(), held.end(), [](const HeldItem& item) { return item.timed_out; });
  for (HeldItem& item : held) {
    if (late > 1) item.timed_out = false;
    EndHeld(item, end, ended_by_us || held.size() > 1);
  }
  if (!held.empty() || has_taken_ || asked_) return;
  if (const auto first = shelf_.DropFirst()) Blame(*first, end);
}

// One that ends without being asked has failed, whatever its exit code says.
void Desk::EndHeld(const HeldItem& item, frame::End end, bool among_others) {
  end.start_ms = item.start_ms;
  end.duration_us = std::max<std::int64_t>(0, NowUs() - item.taken_us);
  end.timed_out = item.timed_out;
  end.stopped = item.stopped;
  const bool by_itself = !item.timed_out && !item.stopped;
  end.among_others = by_itself && among_others;
  end.out_of_memory = false;  // of the program; here it is of the time that it held this one
  if (by_itself && !among_others) {
    if (!Failed(end)) {
      end.exit = 1;
      PutLog(item.number, kNoResult);
    }
    end.out_of_memory = oom_kills_.Count() > item.oom_kills;
  }
  link_.PutEnd({item.number, item.tag}, end);
}

void Desk::Blame(const WaitingItem& item, const frame::End& program) {
  frame::End end = program;
  PutEarlyOutput(item.number);
  if (end.error == 0) {
    if (!Failed(end)) {
      end.exit = 1;
      PutLog(item.number, kNoResult);
    }
    end.out_of_memory = oom_kills_.Count() > oom_kills_before_;
  }
  link_.PutEnd({item.number, item.tag}, end);
}

// --- what programs ask ---

void Desk::OnRequest(std::uint64_t connection, const HttpRequest& request) {
  std::optional<HttpAnswer> answer;
  if (Role::IsFor(request.path)) {
    answer = role_.Answer(request, WallMs() / 1000);
  } else if (request.path != "/next" && request.path != "/progress") {
    answer = HttpProblem(404, "there is only /next, /progress and /role");
  } else if (request.method != "POST") {
    answer = HttpProblem(405, "use POST");
  } else if (request.path == "/progress") {
    answer = TakeProgress(request.body);
  } else if (!is_loop_) {
    answer = HttpProblem(409, "this job has a process for each item; its mode is not \"loop\"");
  } else {
    answer = Next(connection, request);
  }
  if (answer) door_.Answer(connection, *answer);
}

void Desk::OnClosed(std::uint64_t connection) {
  std::erase_if(wishes_, [connection](const Wish& wish) { return wish.connection == connection; });
}

// All is looked at before anything is done, so that a request that is refused has changed nothing.
std::optional<HttpAnswer> Desk::Next(std::uint64_t connection, const HttpRequest& request) {
  const auto most = QueryNumber(request.query, "max", 1);
  const auto wait_ms = QueryNumber(request.query, "wait", kWaitMs);
  if (!most || *most < 1 || *most > Shelf::kItemsMost) {
    return HttpProblem(400, "max is a number from 1 to 1024");
  }
  if (!wait_ms || *wait_ms > kWaitMostMs) {
    return HttpProblem(400, "wait is a number of milliseconds up to 60000");
  }
  if (auto refused = Settle(request.body)) return refused;
  const std::int64_t now_us = NowUs();
  const Wish wish{.connection = connection,
                  .most = static_cast<std::size_t>(*most),
                  .until_us = now_us + static_cast<std::int64_t>(*wait_ms) * 1'000};
  // Who asked before is served before.
  if (wishes_.empty()) {
    if (auto answer = Grant(wish, now_us)) return answer;
  }
  wishes_.push_back(wish);
  return std::nullopt;
}

std::optional<HttpAnswer> Desk::Settle(std::string_view body) {
  const auto results = ReadResults(body);
  if (!results) {
    return HttpProblem(400,
                       "the body is empty or {\"results\":[{\"item\":NUMBER,\"exit\":0 to 255,"
                       "\"error\":TEXT,\"result\":JSON of at most 4096 bytes}]}; exit, error and "
                       "result may be left out");
  }
  if (results->empty()) return std::nullopt;
  std::vector<std::uint64_t> names;
  for (const ItemResult& result : *results) names.push_back(result.item);
  const auto released = shelf_.Release(names);
  if (!released) {
    return HttpProblem(409, "a result is of an item that is not held; none was taken");
  }
  const std::int64_t now_us = NowUs();
  const std::int64_t cpu_us = CpuSinceLast() / static_cast<std::int64_t>(results->size());
  const std::int64_t oom_kills = oom_kills_.Count();
  for (std::size_t i = 0; i < results->size(); ++i) {
    const ItemResult& result = (*results)[i];
    const HeldItem& item = (*released)[i];
    if (!result.error.empty()) PutLog(item.number, result.error + "\n");
    frame::End end{.exit = result.exit,
                   .timed_out = item.timed_out,
                   .stopped = item.stopped,
                   .start_ms = item.start_ms,
                   .duration_us = std::max<std::int64_t>(0, now_us - item.taken_us),
                   .cpu_us = cpu_us,
                   .memory_bytes = MemoryNow(now_us),
                   .result = result.result};
    end.out_of_memory =
        Failed(end) && !item.timed_out && !item.stopped && oom_kills > item.oom_kills;
    link_.PutEnd({item.number, item.tag}, end);
  }
  return std::nullopt;
}

std::optional<HttpAnswer> Desk::Grant(const Wish& wish, std::int64_t now_us) {
  const bool may_take = !asked_ && shelf_.MayTake();
  if (!may_take) {
    const bool is_done = asked_ || (no_more_ && !shelf_.anyone_waits());
    if (!is_done && now_us < wish.until_us) return std::nullopt;
    return HttpAnswer{200,
                      std::string("{\"items\":[],\"done\":") + (is_done ? "true}\n" : "false}\n")};
  }
  const bool held_none = shelf_.held().empty();
  std::string items = shelf_.Take(
      wish.most, {.now_us = now_us, .wall_ms = WallMs(), .oom_kills = oom_kills_.Count()});
  has_taken_ = true;
  if (held_none) PutEarlyOutput(shelf_.held().front().number);
  return HttpAnswer{200, "{\"items\":[" + std::move(items) + "],\"done\":false}\n"};
}

void Desk::Serve(std::int64_t now_us) {
  for (std::size_t i = 0; i < wishes_.size();) {
    const Wish wish = wishes_[i];
    if (const auto answer = Grant(wish, now_us)) {
      wishes_.erase(wishes_.begin() + static_cast<std::ptrdiff_t>(i));
      door_.Answer(wish.connection, *answer);
    } else {
      ++i;
    }
  }
}

HttpAnswer Desk::TakeProgress(std::string_view body) {
  const auto progress = ReadProgress(body);
  if (!progress) {
    return HttpProblem(400, "the body is {\"item\":NUMBER,\"fraction\":0 to 1,\"note\":TEXT}");
  }
  std::uint64_t number = running_;
  if (is_loop_) {
    const auto& held = shelf_.held();
    const HeldItem* item = held.size() == 1 ? &held.front() : nullptr;
    if (progress->item) item = shelf_.FindName(*progress->item);
    number = item == nullptr ? 0 : item->number;
  }
  if (number == 0) return HttpProblem(409, "name an item that is held, as \"item\"");
  link_.Put(frame::EncodeProgress(number, {progress->permille, progress->note}));
  return {204, ""};
}

// --- what the program uses ---

std::int64_t Desk::CpuSinceLast() {
  clockid_t clock = 0;
  if (pid_ == 0 || clock_getcpuclockid(pid_, &clock) != 0) return 0;
  const std::int64_t total_us = ClockUs(clock);
  return std::max<std::int64_t>(0, total_us - std::exchange(cpu_us_, total_us));
}

std::int64_t Desk::MemoryNow(std::int64_t now_us) {
  if (pid_ == 0 || (memory_bytes_ > 0 && now_us - memory_seen_us_ < kMemoryEveryUs)) {
    return memory_bytes_;
  }
  memory_seen_us_ = now_us;
  char text[128];
  snprintf(text, sizeof(text), "/proc/%d/statm", static_cast<int>(pid_));
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return memory_bytes_;
  const ssize_t size = read(file, text, sizeof(text) - 1);
  close(file);
  text[size > 0 ? size : 0] = '\0';
  char* resident = text;
  strtoll(text, &resident, 10);
  memory_bytes_ = std::max<std::int64_t>(0, strtoll(resident, nullptr, 10)) * getpagesize();
  return memory_bytes_;
}

}  // namespace tidemill::init
