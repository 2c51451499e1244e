// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/format.h"
#include "cli/locate.h"
#include "cli/pages.h"
#include "cli/simulate_view.h"
#include "cli/spec_file.h"
#include "rehearse/rehearsal.h"
#include "wire/duration.h"
#include "wire/job_json.h"
#include "wire/settings_json.h"
#include "wire/stats_json.h"
#include "yaml/yaml.h"

namespace tidemill::cli {
namespace {

constexpr std::size_t kTraceBytes = 64 << 20;  // a million lines and more
constexpr std::int64_t kShowEveryMs = 200;

bool IsLine(const std::string& pool) { return pool.find('=') != pool.npos; }

class Simulation {
 public:
  Simulation(const Console& console, const Surroundings& around, Client* client,
             const SimulateFlags& flags)
      : console_(console), around_(around), client_(client), flags_(flags) {}

  int Run() {
    for (const auto step : {&Simulation::ReadJob, &Simulation::ReadSpec, &Simulation::ReadItems,
                            &Simulation::ReadPools, &Simulation::ReadLosses}) {
      if (const auto wrong = (this->*step)()) return *wrong;
    }
    std::vector<Rehearsed> runs;
    for (std::int64_t i = 0; i < flags_.seeds; ++i) {
      rehearsal_.seed = static_cast<std::uint64_t>(flags_.seed + i);
      const auto run = Rehearse(rehearsal_, [&](Duration at, std::int64_t done) {
        Show(i, at, done);
        return true;
      });
      if (console_.err_terminal) console_.err("\r\x1b[K");
      if (!run) return Wrong(run.error().reason);
      runs.push_back(*run);
    }
    Tell(runs);
    return kDone;
  }

 private:
  int Wrong(const std::string& why) const {
    console_.ErrLine(why);
    return kWrongUse;
  }
  int Broken(const Error& error) const { return Explain(console_, *client_, error, flags_.like); }

  std::optional<int> ReadJob();
  std::optional<int> ReadSpec();
  std::optional<int> ReadItems();
  std::optional<int> ReadPools();
  std::optional<int> ReadLosses();
  Result<DurationSpread> LengthsOfLike() const;
  std::optional<int> FetchPools();
  std::optional<int> AddPool(const std::string& text);
  void Show(std::int64_t run, Duration at, std::int64_t done);
  void Tell(const std::vector<Rehearsed>& runs) const;

  const Console& console_;
  const Surroundings& around_;
  Client* const client_;
  const SimulateFlags& flags_;
  Rehearsal rehearsal_;
  std::string name_;
  std::optional<Job> like_;
  StatsAnswer stats_;
  std::vector<PoolSettings> known_;  // the server's pools
  Duration boot_{};
  std::int64_t shown_ms_ = 0;
};

// What became of the job that is to be played again.
std::optional<int> Simulation::ReadJob() {
  if (flags_.like.empty()) return std::nullopt;
  const auto body = client_->Get(JobTarget(flags_.like));
  if (!body) return Broken(body.error());
  const auto job = ParseJob(*body);
  if (!job) return Broken(job.error());
  const auto stats_body = client_->Get(JobTarget(flags_.like, "/stats"));
  if (!stats_body) return Broken(stats_body.error());
  auto stats = ParseStats(*stats_body);
  if (!stats) return Broken(stats.error());
  like_ = *job;
  stats_ = *std::move(stats);
  if (stats_.duration_ms.count > 0 || !flags_.duration.empty()) return std::nullopt;
  return Wrong(flags_.like +
               " has measured nothing yet; wait until some of its items are done, or "
               "say how long they take with --duration");
}

std::optional<int> Simulation::ReadSpec() {
  const SpecEdits edits{.name = {}, .env = {}, .params = {}, .wishes = flags_.wishes};
  std::string text;
  std::string file = flags_.spec;
  if (!file.empty()) {
    auto read = ReadFile(file == "-" ? "/dev/stdin" : file, kYamlBytes);
    if (!read) return Wrong("cannot read " + file + "; a spec is a file, as for tidemill submit");
    text = *std::move(read);
  } else {
    text = like_->spec.document;  // JSON is YAML
    file = flags_.like;
  }
  auto spec = LoadSpec(text, file == "-" ? "spec" : file, edits);
  if (!spec) return Wrong(spec.error().reason);
  name_ = spec->parsed.job.name;
  rehearsal_.spec = spec->parsed.job;
  rehearsal_.spec.document = spec->document;
  // What it was raised to because the spec's was not enough.
  if (flags_.spec.empty() && like_->memory_bytes > rehearsal_.spec.resources.memory_bytes) {
    rehearsal_.spec.resources.memory_bytes = like_->memory_bytes;
  }
  return std::nullopt;
}

Result<DurationSpread> Simulation::LengthsOfLike() const {
  using std::chrono::milliseconds;
  std::vector<DurationSpread::Bucket> buckets;
  for (const auto& bucket : stats_.duration_ms.buckets) {
    // The last bucket reaches beyond the longest attempt.
    const std::int64_t most = std::min(bucket.greatest, stats_.duration_ms.max);
    buckets.push_back(
        {milliseconds(bucket.least), milliseconds(std::max(most, bucket.least)), bucket.count});
  }
  return DurationSpread::Measured(std::move(buckets));
}

std::optional<int> Simulation::ReadItems() {
  rehearsal_.items = flags_.items > 0 ? flags_.items : like_->items;
  const auto lengths =
      flags_.duration.empty() ? LengthsOfLike() : DurationSpread::Parse(flags_.duration);
  if (!lengths) return Wrong(lengths.error().reason);
  rehearsal_.lengths = *lengths;
  if (flags_.failing >= 0) {
    rehearsal_.failing = flags_.failing / 100;
  } else if (like_) {
    std::int64_t all = 0;
    std::int64_t failed = 0;
    for (const auto& [cause, count] : stats_.attempts) {
      if (cause == "failed") failed = count;
      if (cause == "total") all = count;
    }
    if (all > 0) rehearsal_.failing = static_cast<double>(failed) / static_cast<double>(all);
  }
  return std::nullopt;
}

std::optional<int> Simulation::ReadPools() {
  const auto boot = ParseDuration(flags_.boot);
  if (!boot) return Wrong("--boot '" + flags_.boot + "' is not a time; write it as 60s");
  boot_ = *boot;
  if (client_ != nullptr) {
    if (const auto wrong = FetchPools()) return wrong;
  }
  for (const std::string& text : flags_.pools) {
    if (const auto wrong = AddPool(text)) return wrong;
  }
  if (!flags_.pools.empty()) return std::nullopt;
  for (const PoolSettings& pool : known_) {
    if (pool.machines.provider.empty() || pool.machines.disabled) continue;
    rehearsal_.pools.push_back({pool.pool.name, pool.machines, boot_});
  }
  if (!rehearsal_.pools.empty()) return std::nullopt;
  return Wrong(
      "the server has no pool whose machines are made; say on which to play, as "
      "--pool name=spot,cpus=4,max=100,price=0.05,spot");
}

std::optional<int> Simulation::FetchPools() {
  auto pools = FetchAll<PoolSettings>(*client_, "/v1/pools", ParsePools, [](const std::string&) {});
  if (!pools) return Broken(pools.error());
  known_ = *std::move(pools);
  return std::nullopt;
}

std::optional<int> Simulation::AddPool(const std::string& text) {
  PlayedPool pool;
  pool.boot = boot_;
  if (IsLine(text)) {
    auto parsed = ParsePlayedPool(text, boot_);
    if (!parsed) return Wrong(parsed.error().reason);
    pool = *std::move(parsed);
  } else {
    const auto found = std::find_if(known_.begin(), known_.end(),
                                    [&](const PoolSettings& one) { return one.pool.name == text; });
    if (found == known_.end()) {
      console_.ErrLine("no pool '" + text +
                       "'; tidemill pools shows those that there are, or "
                       "describe one: --pool name=" +
                       text + ",cpus=4,max=100");
      return kNoSuchThing;
    }
    if (found->machines.shape.millicpus == 0) {
      return Wrong("pool '" + text +
                   "' does not say what its machines have; describe it: "
                   "--pool name=" +
                   text + ",cpus=4,max=100");
    }
    pool.name = text;
    pool.machines = found->machines;
  }
  const bool is_twice = std::any_of(rehearsal_.pools.begin(), rehearsal_.pools.end(),
                                    [&](const PlayedPool& one) { return one.name == pool.name; });
  if (is_twice) return Wrong("two pools are called '" + pool.name + "'; give each its own name");
  rehearsal_.pools.push_back(std::move(pool));
  return std::nullopt;
}

std::optional<int> Simulation::ReadLosses() {
  const auto notice =
      flags_.notice == "0" ? std::chrono::milliseconds(0) : ParseDuration(flags_.notice);
  if (!notice) return Wrong("--notice '" + flags_.notice + "' is not a time; write 2m, 30s or 0");
  rehearsal_.notice = *notice;
  if (!flags_.interruptions.empty()) {
    const auto part = ParseInterruptions(flags_.interruptions);
    if (!part) return Wrong("--interruptions: " + part.error().reason);
    rehearsal_.interrupted = *part;
  }
  if (!flags_.spot_trace.empty()) {
    const auto text = ReadFile(flags_.spot_trace, kTraceBytes);
    if (!text)
      return Wrong("cannot read " + flags_.spot_trace +
                   "; a trace is a CSV file with the "
                   "header seconds,machines");
    auto losses = ParseSpotTrace(*text);
    if (!losses) return Wrong(flags_.spot_trace + ": " + losses.error().reason);
    rehearsal_.losses = *std::move(losses);
  }
  const bool takes = rehearsal_.interrupted > 0 || !rehearsal_.losses.empty();
  const bool has_spot = std::any_of(rehearsal_.pools.begin(), rehearsal_.pools.end(),
                                    [](const PlayedPool& pool) { return pool.machines.spot; });
  if (!takes || has_spot) return std::nullopt;
  return Wrong("no pool is spot, so no machine is taken away; add ',spot' to a --pool");
}

void Simulation::Show(std::int64_t run, Duration at, std::int64_t done) {
  if (!console_.err_terminal) return;
  const std::int64_t now_ms = around_.now_ms();
  if (now_ms - shown_ms_ < kShowEveryMs) return;
  shown_ms_ = now_ms;
  std::string text = DurationText(at / std::chrono::milliseconds(1)) + " played, " +
                     Thousands(done) + " of " + CountOf(rehearsal_.items, "item") + " done";
  if (flags_.seeds > 1) {
    text = "seed " + Thousands(run + 1) + " of " + Thousands(flags_.seeds) + ": " + text;
  }
  console_.err("\r\x1b[K" + Clip(text, console_.columns - 1));
}

void Simulation::Tell(const std::vector<Rehearsed>& runs) const {
  if (console_.json) return console_.Line(FormatRehearsals(runs));
  if (console_.quiet) {
    return console_.Line(DurationText(MiddleOf(runs).time / std::chrono::milliseconds(1)));
  }
  std::string pools;
  for (const PlayedPool& pool : rehearsal_.pools) {
    pools +=
        (pools.empty() ? "" : ", ") +
        CountOf(pool.machines.max, pool.machines.unit == SizeUnit::kVcpus ? "vcpu" : "machine") +
        " of " + pool.name;
  }
  console_.Line(Clip(name_ + ": " + CountOf(rehearsal_.items, "item") + " on up to " + pools +
                         ", played with " + CountOf(flags_.seeds, "seed"),
                     console_.columns));
  console_.out(RehearsalText(runs, console_.columns, console_.colours));
}

}  // namespace

bool AsksServer(const SimulateFlags& flags) {
  return !flags.like.empty() || std::any_of(flags.pools.begin(), flags.pools.end(),
                                            [](const std::string& pool) { return !IsLine(pool); });
}

std::string MissingOf(const SimulateFlags& flags) {
  if (flags.spec.empty() && flags.like.empty()) {
    return "which spec?  tidemill simulate render.yaml ..., or --like JOB for one that has run";
  }
  if (flags.items == 0 && flags.like.empty()) {
    return "how many items?  --items N, or --like JOB for as many as it has";
  }
  if (flags.duration.empty() && flags.like.empty()) {
    return "how long do items take?  --duration 60s, --duration 'lognormal(60s, 1)', or --like JOB";
  }
  if (flags.pools.empty() && flags.like.empty()) {
    return "on which machines?  --pool name=spot,cpus=4,max=100,price=0.05,spot, or --pool NAME "
           "of the server's";
  }
  return "";
}

int Simulate(const Console& console, const Surroundings& around, Client* client,
             const SimulateFlags& flags) {
  return Simulation(console, around, client, flags).Run();
}

}  // namespace tidemill::cli
