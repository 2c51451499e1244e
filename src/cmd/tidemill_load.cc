// SPDX-License-Identifier: Apache-2.0
// Plays many agents against real servers, truthful and hostile ones, until it is told to stop.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "agent/shell/http_link.h"
#include "base/random.h"
#include "load/agent.h"
#include "net/asio_loop.h"
#include "net/tls.h"

namespace tidemill {
namespace {

struct Options {
  std::vector<std::string> servers;
  std::string ca;
  int agents = 1000;
  int ramp_ms = 0;
  int lease_ms = 0;
  int heartbeat_ms = 10'000;
  int session_seconds = 60;
  bool fetch = true;
  std::int64_t items = 0;
  Script script;
};

struct Servers {
  std::vector<Origin> origins;
  std::shared_ptr<const TlsTrust> trust;
};

// An agent with its own way to the servers and its own random numbers.
struct Player {
  Player(AsioLoop& loop, const Servers& servers, const Script& script, int number,
         LoadTotals& totals, Gossip& gossip)
      : random(script.seed + static_cast<std::uint64_t>(number), "agent"),
        link(loop, servers.origins, static_cast<std::size_t>(number), servers.trust),
        agent({loop, link, random, totals, gossip}, script, "load-" + std::to_string(number)) {}
  SeededRandom random;
  HttpLink link;
  PlayedAgent agent;
};

void Print(const LoadTotals& totals) {
  const auto number = [](std::int64_t value) { return static_cast<long long>(value); };
  std::printf(
      "{\"syncs\": %lld, \"leases\": %lld, \"items_run\": %lld, \"waits\": %lld, \"fetches\": "
      "%lld, "
      "\"errors\": %lld, \"sessions_lost\": %lld, \"refused\": %lld, \"lies\": %lld, "
      "\"repeats\": %lld, \"vanished\": %lld, \"late\": %lld, \"first_lease_ms\": %lld, "
      "\"last_settled_ms\": %lld}\n",
      number(totals.syncs), number(totals.leases), number(totals.items_run), number(totals.waits),
      number(totals.fetches), number(totals.errors), number(totals.sessions_lost),
      number(totals.refused), number(totals.lies), number(totals.repeats), number(totals.vanished),
      number(totals.late), number(totals.first_lease.time_since_epoch().count() / 1000),
      number(totals.last_settled.time_since_epoch().count() / 1000));
  std::fflush(stdout);
}

void AddOptions(CLI::App& app, Options& options) {
  Script& script = options.script;
  app.add_option("--server", options.servers, "a server's URL; may be given several times");
  app.add_option("--join-token", script.join_token, "of the pool that they join");
  app.add_option("--ca", options.ca, "who vouches for https servers; else whom the system believes")
      ->envname("TIDEMILL_CA");
  app.add_option("--agents", options.agents, "how many agents to play")->capture_default_str();
  app.add_option("--ramp-ms", options.ramp_ms, "spread their beginnings over this time");
  app.add_option("--item-ms", script.item_ms, "what an item is said to have taken")
      ->capture_default_str();
  app.add_option("--lease-ms", options.lease_ms, "what a lease really takes");
  app.add_option("--heartbeat-ms", options.heartbeat_ms, "an agent syncs at least this often")
      ->capture_default_str();
  app.add_option("--session-seconds", options.session_seconds, "as the servers have it")
      ->capture_default_str();
  app.add_flag("!--no-fetch", options.fetch, "do not fetch the items of chunks");
  app.add_option("--failing-ppm", script.failing_ppm, "of a million items, so many always fail");
  app.add_option("--seed", script.seed, "which items fail, and who misbehaves when");
  app.add_option("--items", options.items,
                 "only print how many of the items 0 .. N-1 always fail with this seed");
  app.add_option("--splits", script.splits, "chance of settling a lease in two reports");
  app.add_option("--leaves", script.leaves, "chance of leaving in good order and joining anew");
  app.add_option("--repeats", script.repeats, "chance of saying a settlement again");
  app.add_option("--lies", script.lies, "chance of a lie with a sync");
  app.add_option("--gives-back", script.gives_back, "chance of returning a part of a lease");
  app.add_option("--comes-late", script.comes_late, "chance of a silence past the session's life");
  app.add_option("--vanishes", script.vanishes, "chance of vanishing with a lease");
  app.footer(
      "Example: tidemill-load --server http://127.0.0.1:8080 --join-token tidemill_join_...\n"
      "Ctrl-C, or SIGTERM: the agents leave, and the totals are printed as JSON.");
}

// Two servers and two connections each an agent, beside the program's own.
void AllowManyFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

int Play(const Options& options, const Servers& servers) {
  AsioLoop loop;
  LoadTotals totals;
  Gossip gossip;
  std::vector<std::unique_ptr<Player>> players;
  for (int i = 0; i < options.agents; ++i) {
    players.push_back(std::make_unique<Player>(loop, servers, options.script, i, totals, gossip));
    const auto delay =
        std::chrono::microseconds(options.ramp_ms * 1000LL * i / std::max(options.agents, 1));
    loop.After(delay, [&agent = players.back()->agent] { agent.Start(); });
  }
  loop.OnSignal({SIGINT, SIGTERM}, [&](int) {
    // What is under way is answered or not; the sessions end, or are given up by the servers.
    for (const auto& player : players) player->agent.Leave();
    loop.After(std::chrono::seconds(2), [&loop] { loop.Stop(); });
  });
  // Shows what is going on to whoever reads along.
  std::function<void()> report = [&] {
    Print(totals);
    loop.After(std::chrono::seconds(1), report);
  };
  loop.After(std::chrono::seconds(1), report);
  loop.Run();
  Print(totals);
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Plays agents against tidemill servers: for load tests and hostile tests.",
               "tidemill-load");
  AddOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.items > 0) {
    std::printf("%lld\n", static_cast<long long>(FailingItems(options.script, options.items)));
    return 0;
  }
  if (options.servers.empty()) {
    std::fprintf(stderr, "no --server is given; see --help\n");
    return 2;
  }
  Servers servers;
  for (const std::string& url : options.servers) {
    Result<Origin> origin = ParseSafeUrl(url);
    if (!origin) {
      std::fprintf(stderr, "%s: %s\n", url.c_str(), origin.error().reason.c_str());
      return 2;
    }
    servers.origins.push_back(*origin);
  }
  auto trust = TlsTrust::For(servers.origins, options.ca);
  if (!trust) {
    std::fprintf(stderr, "--ca: %s\n", trust.error().reason.c_str());
    return 2;
  }
  servers.trust = *std::move(trust);
  Script& script = options.script;
  script.lease_time = std::chrono::milliseconds(options.lease_ms);
  script.heartbeat = std::chrono::milliseconds(options.heartbeat_ms);
  script.session_life = std::chrono::seconds(options.session_seconds);
  script.fetches_items = options.fetch;
  AllowManyFiles();
  return Play(options, servers);
}

}  // namespace
}  // namespace tidemill

int main(int argc, char** argv) { return tidemill::Main(argc, argv); }
