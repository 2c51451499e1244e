// SPDX-License-Identifier: Apache-2.0
// tidemill-server: flags, construction, run.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "net/asio_loop.h"
#include "net/thread_pool.h"
#include "server/http/listen.h"
#include "server/http/service.h"
#include "server/server.h"
#include "store/check.h"
#include "store/postgres/postgres_store.h"
#include "wire/check_json.h"

namespace tidemill {
namespace {

enum Exit : int { kDone = 0, kFailed = 1, kWrongUse = 2, kNoDatabase = 5 };

struct Flags {
  std::string database;
  std::string listen = "127.0.0.1:8080";
  std::string port_file;
  int session_seconds = 60;
  int connections = 6;
  bool json = false;
};

// Says what happened and what to do about it.
int Explain(const std::string& doing, const Error& error) {
  const bool outage = error.code == Code::kUnavailable || error.code == Code::kUnknown;
  std::fprintf(stderr, "tidemill-server: cannot %s: %s\n", doing.c_str(), error.reason.c_str());
  if (outage) {
    std::fprintf(stderr,
                 "Is PostgreSQL running, and is --database (or TIDEMILL_DATABASE) right? Try: "
                 "psql \"$TIDEMILL_DATABASE\" -c 'select 1'\n");
  }
  return outage ? kNoDatabase : kFailed;
}

int Migrate(const Flags& flags) {
  PostgresStore store({.conninfo = flags.database, .connections = 1});
  const auto applied = store.Migrate();
  if (!applied) return Explain("bring the schema up to date", applied.error());
  std::printf("%d migrations applied\n", *applied);
  return kDone;
}

Result<CheckReport> CheckAll(Store& store) {
  CheckReport report;
  JobFilter filter{.state = {}, .before = {}, .limit = limits::kPageRows};
  while (true) {
    TIDEMILL_TRY(const std::vector<Job> jobs, store.ListJobs(filter));
    if (jobs.empty()) break;
    for (const Job& job : jobs) report.items += job.items;
    report.jobs += static_cast<std::int64_t>(jobs.size());
    filter.before = jobs.back().id;
  }
  TIDEMILL_TRY(report.breaches, CheckStore(store));
  return report;
}

int Check(const Flags& flags) {
  PostgresStore store({.conninfo = flags.database, .connections = 1});
  const auto report = CheckAll(store);
  if (!report) return Explain("check the database", report.error());
  if (flags.json) {
    std::printf("%s\n", FormatCheck(*report).c_str());
  } else if (report->breaches.empty()) {
    std::printf("conserved: %lld jobs, %lld items, none lost and none doubled\n",
                static_cast<long long>(report->jobs), static_cast<long long>(report->items));
  } else {
    for (const std::string& breach : report->breaches) std::printf("%s\n", breach.c_str());
  }
  return report->breaches.empty() ? kDone : kFailed;
}

ServiceOptions OptionsOf(const Flags& flags, Listen listen, const ServerLimits& limits) {
  constexpr std::int64_t kOtherFiles = 64;  // the log, timers, libraries
  ServiceOptions options;
  options.connections_max = RaiseOpenFiles() - flags.connections - kOtherFiles;
  options.listen = std::move(listen);
  options.port_file = flags.port_file;
  options.api.session_life = limits.session_life;
  // The exchange has its two connections at all times; people and agents share the others with the
  // server's own steps.
  const int shared = std::max(1, (flags.connections - limits.batches_in_flight) / 2);
  options.api.people.under_way = shared;
  options.api.agents.under_way = shared;
  return options;
}

int Serve(const Flags& flags) {
  auto listen = ParseListen(flags.listen);
  if (!listen) {
    std::fprintf(stderr, "--listen: %s\n", listen.error().reason.c_str());
    return kWrongUse;
  }
  StderrLog log;
  if (!listen->loopback) {
    log.Warn("server.open_to_all", {{"address", listen->address},
                                    {"why",
                                     "there is no authentication yet: whoever reaches this "
                                     "address may do everything"}});
  }
  PostgresStore store({.conninfo = flags.database, .connections = flags.connections});
  const auto applied = store.Migrate();
  if (!applied) return Explain("bring the schema up to date", applied.error());
  log.Info("server.starting", {{"version", TIDEMILL_VERSION}, {"migrations_applied", *applied}});
  SystemRandom random;
  AsioLoop loop;
  ServerLimits limits;
  // A thread for each connection, so that none waits for another's.
  ThreadPool exchange_pool(loop, limits.batches_in_flight);
  ThreadPool pool(loop, flags.connections - limits.batches_in_flight);
  limits.session_life = std::chrono::seconds(flags.session_seconds);
  Server server({loop, pool, exchange_pool, store, random, log}, limits);
  Service service({loop, server, random, log}, OptionsOf(flags, *std::move(listen), limits));
  if (auto started = service.Start(); !started) {
    std::fprintf(stderr, "tidemill-server: cannot listen on %s: %s\n", flags.listen.c_str(),
                 started.error().reason.c_str());
    return kFailed;
  }
  loop.OnSignal({SIGTERM, SIGINT}, [&service](int signal) {
    if (service.stopping()) std::_Exit(128 + signal);
    service.Stop();
  });
  loop.Run();
  // Threads that hang on the database would keep us from leaving.
  if (!service.ended_well()) std::_Exit(kFailed);
  return kDone;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("The control plane of tidemill.", "tidemill-server");
  app.set_version_flag("--version", std::string("tidemill-server ") + TIDEMILL_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Example:\n  tidemill-server serve --database 'host=/run/postgresql dbname=tidemill'\n");
  const auto with_database = [&](CLI::App* command, const std::string& example) {
    command
        ->add_option("--database", flags.database,
                     "Where PostgreSQL is, as psql takes it; else TIDEMILL_DATABASE says it")
        ->type_name("CONNINFO");
    command->footer("Example:\n  tidemill-server " + example + "\n");
    return command;
  };
  CLI::App* serve =
      with_database(app.add_subcommand("serve", "Serve the API until SIGTERM or Ctrl-C."),
                    "serve --database 'host=db dbname=tidemill' --listen 127.0.0.1:8080");
  serve->add_option("--listen", flags.listen, "Numeric address and port")->capture_default_str();
  serve->add_option("--port-file", flags.port_file, "Write the port here once it is listened on");
  serve
      ->add_option("--session-seconds", flags.session_seconds,
                   "An agent that is silent for so long is given up")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  serve->add_option("--connections", flags.connections, "Connections to the database, at most")
      ->check(CLI::Range(3, 100))
      ->capture_default_str();
  with_database(app.add_subcommand("migrate", "Bring the database's schema up to date."),
                "migrate --database 'host=db dbname=tidemill'");
  CLI::App* check = with_database(
      app.add_subcommand("check", "Check that no item was lost or doubled; may run at any time."),
      "check --database 'host=db dbname=tidemill' --json");
  check->add_flag("--json", flags.json, "The same facts, for programs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongUse;
  }
  // Not by CLI11, which would let the variable win over the flag: the commands share one string.
  const char* database = std::getenv("TIDEMILL_DATABASE");
  if (flags.database.empty() && database != nullptr) flags.database = database;
  if (flags.database.empty()) {
    std::fprintf(stderr, "tidemill-server: which database? Use --database or TIDEMILL_DATABASE.\n");
    return kWrongUse;
  }
  if (app.got_subcommand("migrate")) return Migrate(flags);
  return app.got_subcommand(check) ? Check(flags) : Serve(flags);
}

}  // namespace
}  // namespace tidemill

int main(int argc, char** argv) { return tidemill::Main(argc, argv); }
