// SPDX-License-Identifier: Apache-2.0
#include "provider/local/pool_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/remove_tree.h"
#include "model/job.h"
#include "provider/local/launch.h"

namespace tidemill {
namespace fs = std::filesystem;
namespace {

constexpr Duration kEndedListed = std::chrono::hours(1);
constexpr char kBill[] = "bill";
// Names of machines begin with no dot.
constexpr char kLock[] = ".lock";
constexpr std::string_view kOld = ".old-";

Result<Fd> LockOf(const fs::path& path) {
  Fd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return Fail(Code::kUnavailable, path.string() + ": " + strerror(errno));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return Fail(Code::kConflict, path.string() + " is held by another");
}

// "1.5" for 1500.
std::string CpusText(std::int64_t millicpus) {
  const std::string part = std::to_string(1000 + millicpus % 1000).substr(1);
  return std::to_string(millicpus / 1000) + "." + part;
}

}  // namespace

PoolFolder::PoolFolder(const LocalOptions& options, const PoolSettings& pool, fs::path path,
                       Fd lock)
    : options_(&options),
      project_(pool.pool.project),
      pool_(pool.pool.name),
      path_(std::move(path)),
      lock_(std::move(lock)) {}

Result<std::optional<PoolFolder>> PoolFolder::Open(const LocalOptions& options,
                                                   const PoolSettings& pool, bool make) {
  const std::string& project = pool.pool.project;
  if (!IsName(project) || !IsName(pool.pool.name) || project == kBill) {
    return Fail(Code::kInvalid, "no folder can be called '" + project + "/" + pool.pool.name + "'");
  }
  fs::path path = options.folder / project / pool.pool.name;
  std::error_code error;
  if (make) fs::create_directories(path, error);
  if (error) return Fail(Code::kUnavailable, path.string() + ": " + error.message());
  if (!fs::exists(path, error)) return std::nullopt;
  TIDEMILL_TRY(Fd lock, LockOf(path / kLock));
  return PoolFolder(options, pool, std::move(path), std::move(lock));
}

std::vector<std::string> PoolFolder::Names() const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (IsName(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// --- how they are ---

Result<std::optional<ListedAt>> PoolFolder::Look(const std::string& name) {
  const MachineFolder folder = Of(name);
  std::optional<MachineFolder::Record> record = folder.Read();
  if (!record) return std::nullopt;
  const TimePoint now = options_->clock();
  if (!record->ended) {
    if (Lives(record->process)) {
      const bool is_late = record->ending && now - *record->ending > options_->end_limit;
      if (is_late) KillGroup(record->process);
      return ListedAt{name, record->since, {}};
    }
    record->ended = std::max(now, record->since);
    TIDEMILL_TRY_VOID(folder.MarkEnded(*record->ended));
  }
  if (!record->billed) {
    TIDEMILL_TRY_VOID(Bill(name, *record));
  }
  if (now - *record->ended <= kEndedListed) return ListedAt{name, record->since, record->ended};
  std::error_code error;
  fs::rename(folder.path(), path_ / (std::string(kOld) + name), error);
  return std::nullopt;
}

// Once: whoever died before it was noted that the line is there has written it, or not.
Result<void> PoolFolder::Bill(const std::string& name, const MachineFolder::Record& record) const {
  const fs::path path = options_->folder / kBill;
  const std::string whose = project_ + " " + pool_ + " " + name + " ";
  bool has_it = false;
  std::ifstream file(path);
  for (std::string line; !has_it && std::getline(file, line);) has_it = line.starts_with(whose);
  if (!has_it) {
    const std::string line =
        whose + MicrosText(record.since) + " " + MicrosText(*record.ended) + "\n";
    const Fd bill(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!bill || write(bill.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      return Fail(Code::kUnavailable, path.string() + ": " + strerror(errno));
    }
  }
  return Of(name).MarkBilled();
}

Result<std::vector<ListedAt>> PoolFolder::List() {
  std::vector<ListedAt> listed;
  for (const std::string& name : Names()) {
    TIDEMILL_TRY(std::optional<ListedAt> machine, Look(name));
    if (machine) listed.push_back(*std::move(machine));
  }
  return listed;
}

void PoolFolder::Close() {
  lock_.Reset();
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kOld)) old.push_back(entry->path());
  }
  for (const fs::path& path : old) RemoveTree(path.string());
}

// --- their beginning ---

std::vector<std::string> PoolFolder::CommandOf(const PoolSettings& pool, const LocalPool& local,
                                               const std::string& name) const {
  const MachineFolder folder = Of(name);
  std::vector<std::string> command = {options_->agent_program.string()};
  const auto add = [&command](const char* flag, std::string value) {
    command.emplace_back(flag);
    command.push_back(std::move(value));
  };
  for (const std::string& server : options_->servers) add("--server", server);
  if (!options_->ca.empty()) add("--ca", options_->ca);
  add("--state", folder.state().string());
  add("--join-token-file", folder.token().string());
  add("--machine", name);
  const Resources& shape = pool.machines.shape;
  if (shape.millicpus > 0) add("--cpus", CpusText(shape.millicpus));
  if (shape.memory_bytes > 0) add("--memory", std::to_string(shape.memory_bytes));
  if (!local.engine.empty()) add("--engine", local.engine);
  // Each of them would take all devices for its own.
  command.emplace_back("--no-cdi");
  command.insert(command.end(), options_->args.begin(), options_->args.end());
  command.insert(command.end(), local.args.begin(), local.args.end());
  return command;
}

Result<void> PoolFolder::Start(const PoolSettings& pool, const LocalPool& local,
                               const MachineOrder& order) {
  const MachineFolder folder = Of(order.name);
  TIDEMILL_TRY_VOID(folder.Prepare(order.join_token));
  LaunchPlan plan;
  plan.argv = CommandOf(pool, local, order.name);
  plan.environment = options_->environment;
  plan.folder = folder.path();
  plan.log = folder.log();
  plan.mark = folder.made();
  plan.mark_before = MicrosText(options_->clock());
  plan.mark_after = BootId();
  const Result<void> launched = Launch(plan);
  // What may have begun must be found again.
  if (!launched && launched.error().code != Code::kUnknown) RemoveTree(folder.path().string());
  return launched;
}

Result<Refused> PoolFolder::Make(const PoolSettings& pool,
                                 const std::vector<MachineOrder>& machines) {
  TIDEMILL_TRY(const std::vector<ListedAt> listed, List());
  std::int64_t there = std::count_if(listed.begin(), listed.end(),
                                     [](const ListedAt& machine) { return !machine.ended; });
  Refused refused;
  const auto local = ParseLocalPool(pool.machines.options);
  if (!local) refused.words = local.error().reason;
  for (const MachineOrder& order : machines) {
    if (IsName(order.name) && Of(order.name).Read()) continue;
    if (!IsName(order.name)) refused.words = "no machine can be called '" + order.name + "'";
    if (refused.words.empty() && there >= local->capacity.value_or(there + 1)) {
      refused.words = "local capacity is " + std::to_string(*local->capacity);
    }
    if (refused.words.empty()) {
      const Result<void> started = Start(pool, *local, order);
      if (!started && started.error().code == Code::kUnknown)
        return tl::unexpected(started.error());
      if (!started) refused.words = started.error().reason;
    }
    if (refused.words.empty()) {
      ++there;
    } else {
      refused.names.push_back(order.name);
    }
  }
  if (refused.names.empty()) refused.words.clear();
  return refused;
}

// --- their end ---

// It is noted first: an agent that is asked twice drops all and goes at once.
Result<void> PoolFolder::End(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!IsName(name)) continue;
    TIDEMILL_TRY(const std::optional<ListedAt> machine, Look(name));
    if (!machine || machine->ended) continue;
    const MachineFolder folder = Of(name);
    const std::optional<MachineFolder::Record> record = folder.Read();
    if (!record || record->ending) continue;
    TIDEMILL_TRY_VOID(folder.MarkEnding(options_->clock()));
    SendSignal(record->process, SIGTERM);
  }
  return {};
}

}  // namespace tidemill
