// SPDX-License-Identifier: Apache-2.0
// tidemill-server: flags, construction, run.
#include <fcntl.h>
#include <nss.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/private_file.h"
#include "base/random.h"
#include "base/seal.h"
#include "base/wall.h"
#include "cloud/world.h"
#include "cmd/server_machines.h"
#include "cmd/server_times.h"
#include "model/access.h"
#include "model/token.h"
#include "net/asio_loop.h"
#include "net/thread_pool.h"
#include "net/tls.h"
#include "objects/open.h"
#include "registry/registries.h"
#include "server/http/listen.h"
#include "server/http/service.h"
#include "server/ledger/writer.h"
#include "server/notify/notifier.h"
#include "server/notify/webhooks.h"
#include "server/server.h"
#include "store/check.h"
#include "store/postgres/postgres_store.h"
#include "wire/check_json.h"

namespace tidemill {
namespace {

enum Exit : int { kDone = 0, kFailed = 1, kWrongUse = 2, kNoDatabase = 5 };

struct TokenFlags {
  std::string file;
  std::string name;
  std::string project = std::string(kDefaultProject);
  std::string role;
  std::string pool;
  int days = 3650;
};

struct Flags {
  std::string database;
  std::string listen = "127.0.0.1:8080";
  std::string tls_cert;
  std::string tls_key;
  std::string port_file;
  std::string secret_keys;
  std::vector<std::string> registries;
  std::string registry_lookups = "public";
  std::string objects;
  std::vector<std::string> notify_allow;
  MachineFlags machines;
  TokenFlags token;
  int session_seconds = 60;
  std::int64_t pack_seconds = 3600;
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
  TIDEMILL_TRY(const std::vector<Breach> breaches, CheckStore(store));
  for (const Breach& breach : breaches) report.breaches.push_back(ToString(breach));
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

ServiceOptions OptionsOf(const Flags& flags, Listen listen, std::shared_ptr<TlsIdentity> tls,
                         std::shared_ptr<const KeyRing> keys, const ServerTimes& times) {
  constexpr std::int64_t kOtherFiles = 64;  // the log, timers, libraries
  ServiceOptions options;
  options.connections_max = RaiseOpenFiles() - flags.connections - kOtherFiles;
  options.listen = std::move(listen);
  options.tls = std::move(tls);
  options.port_file = flags.port_file;
  options.api.keys = std::move(keys);
  options.api.stream_look = times.stream_look;
  options.certificate_look = times.certificate_look;
  // The exchange has its two connections at all times; people and agents share the others with the
  // server's own steps.
  const int shared = std::max(1, (flags.connections - times.limits.batches_in_flight) / 2);
  options.api.people.under_way = shared;
  options.api.agents.under_way = shared;
  return options;
}

// Null: clear text, which nobody but this machine may get to see.
Result<std::shared_ptr<TlsIdentity>> IdentityOf(const Flags& flags, const Listen& listen) {
  if (!flags.tls_cert.empty()) {
    return TlsIdentity::Open({.certificate = flags.tls_cert, .key = flags.tls_key});
  }
  if (listen.loopback) return nullptr;
  return Fail(
      Code::kInvalid,
      "other machines can reach --listen " + flags.listen +
          ", so it has to speak TLS.\nGive it a certificate: --tls-cert FILE --tls-key FILE. "
          "Or, if a proxy on this machine does TLS:\n--listen 127.0.0.1:8080");
}

// Null: there are none, and nobody can set a secret.
Result<std::shared_ptr<const KeyRing>> KeysOf(const Flags& flags) {
  if (flags.secret_keys.empty()) return nullptr;
  std::ifstream file(flags.secret_keys);
  if (!file) return Fail(Code::kInvalid, "cannot read " + flags.secret_keys);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  TIDEMILL_TRY(KeyRing ring, KeyRing::Parse(text));
  return std::make_shared<const KeyRing>(std::move(ring));
}

RegistryOptions RegistriesOf(const Flags& flags) {
  RegistryOptions options;
  options.rules = {.listed = flags.registries, .any_public = flags.registry_lookups == "public"};
  return options;
}

auto FinderOf(Registries& registries) {
  return [&registries](const ImageName& image, std::optional<RegistryLogin> login,
                       Reply<std::string> reply) {
    registries.ResolveDigest(image, std::move(login), std::move(reply));
  };
}

auto ReaderOf(Registries& registries) {
  return [&registries](const ImageName& image, const std::string& digest,
                       std::optional<RegistryLogin> login, Reply<ImageConfig> reply) {
    registries.ReadConfig(image, digest, std::move(login), std::move(reply));
  };
}

// What was checked when the flags were read.
NotifyRules NotifyRulesOf(const Flags& flags) {
  NotifyRules rules;
  for (const std::string& text : flags.notify_allow) {
    if (const auto block = ParseNetBlock(text)) rules.allowed.push_back(*block);
  }
  return rules;
}

Notifier::Options NotifierOf(const ServiceOptions& options, const ServerTimes& times) {
  Notifier::Options made;
  made.hold = times.notify_hold;
  made.keys = options.api.keys;
  made.wall_ms = WallMs;
  return made;
}

int WrongUse(const char* where, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", where, error.reason.c_str());
  return kWrongUse;
}

// Lets the API read the deployment's own object store, if it has one.
Result<void> UseObjects(const std::string& url, ObjectStores& objects, ThreadPool& worker,
                        ApiOptions& api) {
  if (url.empty()) return {};
  if (const auto found = objects.Find(url); !found) return tl::unexpected(found.error());
  api.objects = &objects;
  api.logs_worker = &worker;
  api.objects_url = url;
  return {};
}

auto SenderOf(Webhooks& webhooks) {
  return [&webhooks](const NotifyUrl& url, HttpCall call, Reply<HttpResponse> reply) {
    webhooks.Send(url, std::move(call), std::move(reply));
  };
}

int Serve(const Flags& flags) {
  auto listen = ParseListen(flags.listen);
  if (!listen) return WrongUse("--listen", listen.error());
  auto tls = IdentityOf(flags, *listen);
  if (!tls) return WrongUse("tidemill-server", tls.error());
  auto keys = KeysOf(flags);
  if (!keys) return WrongUse("--secret-keys", keys.error());
  auto proven = ProofOptionsOf(flags.machines);
  if (!proven) return WrongUse("tidemill-server", proven.error());
  auto times = ReadServerTimes();
  if (!times) return WrongUse("tidemill-server", times.error());
  StderrLog log;
  PostgresStore store({.conninfo = flags.database, .connections = flags.connections});
  const auto applied = store.Migrate();
  if (!applied) return Explain("bring the schema up to date", applied.error());
  log.Info("server.starting", {{"version", TIDEMILL_VERSION}, {"migrations_applied", *applied}});
  WarnOfTimes(log);
  WarnOfOpenFiles(log, {flags.secret_keys, flags.tls_key});
  SystemRandom random;
  AsioLoop loop;
  ServerLimits& limits = times->limits;
  // A thread for each connection, so that none waits for another's.
  ThreadPool exchange_pool(loop, limits.batches_in_flight);
  ThreadPool pool(loop, flags.connections - limits.batches_in_flight);
  limits.session_life = std::chrono::seconds(flags.session_seconds);
  limits.pack_age = std::chrono::seconds(flags.pack_seconds);
  ThreadPool machines_pool(loop, 1);  // apart from the database's: it waits for disks
  Makers makers({loop, machines_pool, random, log}, flags.machines, *std::move(proven), *times);
  const ServerDeps deps{loop, pool,   exchange_pool,  store,          store,         random,
                        log,  &store, makers.Named(), &makers.proofs, &makers.roles, &store};
  Server server(deps, limits);
  ServiceOptions options =
      OptionsOf(flags, *std::move(listen), *std::move(tls), *std::move(keys), *times);
  ThreadPool logs_pool(loop, 2);  // apart from the database's: a search takes a processor
  ObjectStores objects({loop, logs_pool, random, makers.world});
  if (const auto used = UseObjects(flags.objects, objects, logs_pool, options.api); !used) {
    return WrongUse("--objects", used.error());
  }
  Registries registries(loop, RegistriesOf(flags));
  options.api.find_digest = FinderOf(registries);
  options.api.read_config = ReaderOf(registries);
  LedgerWriter ledger(server.deps(), store, objects, {.objects = flags.objects});
  const NotifyRules rules = NotifyRulesOf(flags);
  Webhooks webhooks(loop, rules);
  Notifier notifier(server.deps(), store, SenderOf(webhooks), NotifierOf(options, *times));
  options.api.notify = &store;
  options.api.may_notify = [&rules](const std::string& spec) { return CheckNotify(rules, spec); };
  Service service({loop, server, store, random, log}, options);
  if (auto started = service.Start(); !started) {
    std::fprintf(stderr, "tidemill-server: cannot listen on %s: %s\n", flags.listen.c_str(),
                 started.error().reason.c_str());
    return kFailed;
  }
  if (!flags.objects.empty()) ledger.Start();
  notifier.Start();
  loop.OnSignal({SIGTERM, SIGINT}, [&service, &ledger, &notifier](int signal) {
    if (service.stopping()) std::_Exit(128 + signal);
    ledger.Stop();
    notifier.Stop();
    service.Stop();
  });
  if (!flags.tls_cert.empty()) {
    loop.OnSignal({SIGHUP}, [&service](int) { service.ReloadCertificate(); });
  }
  loop.Run();
  // Threads that hang on the database would keep us from leaving.
  if (!service.ended_well()) std::_Exit(kFailed);
  return kDone;
}

// The first token, of whoever can reach the database anyway: with it all others are made.
void AddTokenCommand(CLI::App* command, TokenFlags& token) {
  command
      ->add_option("--file", token.file, "Holds the token; made with a new one if it is not there")
      ->required()
      ->type_name("FILE");
  command->add_option("--name", token.name, "Whose it is, or what for")->required();
  command->add_option("--project", token.project, "Or * for all")->capture_default_str();
  auto* const role = command->add_option("--role", token.role, "A person's")
                         ->check(CLI::IsMember({"viewer", "submitter", "operator", "admin"}));
  command->add_option("--join", token.pool, "A join token of this pool instead")->excludes(role);
  command->add_option("--days", token.days, "How long it is good")
      ->check(CLI::Range(1, 3650))
      ->capture_default_str();
}

int PrintSecretKey() {
  SystemRandom random;
  std::printf("%s\n", MakeKeyLine(random).c_str());
  return kDone;
}

// What is in the file, or a new token that is in it from now on.
Result<std::string> KeptToken(const std::string& path, std::string_view prefix) {
  std::ifstream kept(path);
  std::string secret;
  if (kept >> secret) {
    if (IsToken(prefix, secret)) return secret;
    return Fail(Code::kInvalid, path + " holds something else than such a token");
  }
  SystemRandom random;
  secret = MakeToken(prefix, random);
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string line = secret + "\n";
  if (!file || write(file.get(), line.data(), line.size()) != std::ssize(line)) {
    return Fail(Code::kInvalid, "cannot write " + path + ": " + std::strerror(errno));
  }
  return secret;
}

int MakeTokenGood(const Flags& flags) {
  const TokenFlags& wanted = flags.token;
  const bool join = !wanted.pool.empty();
  if (!join && wanted.role.empty()) {
    std::fprintf(stderr, "tidemill-server: say --role or --join\n");
    return kWrongUse;
  }
  const auto secret = KeptToken(wanted.file, join ? kJoinPrefix : kApiPrefix);
  if (!secret) {
    std::fprintf(stderr, "tidemill-server: %s\n", secret.error().reason.c_str());
    return kFailed;
  }
  NewToken token;
  // By the token itself, so that the same one is not made twice.
  const std::string hash = HashToken(*secret);
  std::memcpy(&token.id, hash.data(), sizeof token.id);
  token.kind = join ? TokenKind::kJoin : TokenKind::kApi;
  token.secret = *secret;
  token.name = wanted.name;
  token.project = wanted.project == "*" ? "" : wanted.project;
  token.role = ParseRole(wanted.role).value_or(Role::kViewer);
  token.pool = wanted.pool;
  token.made_by = "tidemill-server token";
  token.life = std::chrono::hours(24) * wanted.days;
  PostgresStore store({.conninfo = flags.database, .connections = 1});
  if (const auto applied = store.Migrate(); !applied) {
    return Explain("bring the schema up to date", applied.error());
  }
  const auto made = store.CreateToken(token);
  if (!made) return Explain("make the token", made.error());
  if (made->revoked_ms > 0) {
    std::fprintf(stderr,
                 "tidemill-server: the token in %s was revoked; remove the file for a new one\n",
                 wanted.file.c_str());
    return kFailed;
  }
  const bool same = made->role == token.role && made->project == token.project &&
                    made->pool == token.pool && made->kind == token.kind;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  if (!same || std::chrono::milliseconds(made->expires_ms) < now) {
    std::fprintf(stderr, "tidemill-server: the token in %s %s; remove the file for a new one\n",
                 wanted.file.c_str(), same ? "has expired" : "was made for something else");
    return kFailed;
  }
  return kDone;
}

void AddTlsFlags(CLI::App* serve, Flags& flags) {
  auto* const cert =
      serve->add_option("--tls-cert", flags.tls_cert,
                        "Speak TLS with this certificate (and its chain); read anew when it "
                        "changes and on SIGHUP");
  auto* const key = serve->add_option("--tls-key", flags.tls_key, "The key of --tls-cert");
  cert->type_name("FILE")->needs(key);
  key->type_name("FILE")->needs(cert);
}

void AddRegistryFlags(CLI::App* serve, Flags& flags) {
  serve
      ->add_option("--objects", flags.objects,
                   "The object store for logs, ledgers and code: s3://BUCKET/PREFIX, gs://..., "
                   "file:///FOLDER")
      ->type_name("URL")
      ->envname("TIDEMILL_OBJECTS");
  serve
      ->add_option("--registry", flags.registries,
                   "May be asked what a tag stands for wherever it is; may be said again")
      ->type_name("HOST[:PORT]")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        const auto checked = CheckListed(text);
        return checked ? "" : checked.error().reason;
      });
  serve
      ->add_option("--registry-lookups", flags.registry_lookups,
                   "Which other registries are asked: those with public addresses, or none but the "
                   "listed")
      ->check(CLI::IsMember({"public", "listed"}))
      ->take_last()
      ->capture_default_str();
}

void AddNotifyFlags(CLI::App* serve, Flags& flags) {
  serve
      ->add_option("--notify-allow", flags.notify_allow,
                   "Jobs may have this network called, too, and not only what is on the Internet; "
                   "may be said again")
      ->type_name("NETWORK")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        const auto block = ParseNetBlock(text);
        return block ? "" : block.error().reason;
      });
}

void AddTimeFlags(CLI::App* serve, Flags& flags) {
  serve
      ->add_option("--session-seconds", flags.session_seconds,
                   "An agent that is silent for so long is given up")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  serve
      ->add_option("--pack-seconds", flags.pack_seconds,
                   "What is done of an open job is kept so long, then only in its ledger")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{86'400 * 365}))
      ->capture_default_str();
}

int Main(int argc, char** argv) {
  // A crash must not write tokens and keys to a disk.
  prctl(PR_SET_DUMPABLE, 0);
  // A static program must not load the host's name service libraries; libpq looks for our user too.
  __nss_configure_lookup("hosts", "files dns");
  __nss_configure_lookup("passwd", "files");
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
  AddTlsFlags(serve, flags);
  serve->add_option("--port-file", flags.port_file, "Write the port here once it is listened on");
  AddTimeFlags(serve, flags);
  serve->add_option("--connections", flags.connections, "Connections to the database, at most")
      ->check(CLI::Range(3, 100))
      ->capture_default_str();
  AddRegistryFlags(serve, flags);
  AddNotifyFlags(serve, flags);
  AddMachineFlags(serve, flags.machines);
  serve
      ->add_option("--secret-keys", flags.secret_keys,
                   "The keys that seal secrets; make one with: tidemill-server secret-key")
      ->type_name("FILE");
  app.add_subcommand("secret-key", "Print a new key for --secret-keys.")
      ->footer("Example:\n  (umask 077; tidemill-server secret-key > secret.keys)\n");
  AddTokenCommand(
      with_database(app.add_subcommand("token", "See to it that the token in a file is good."),
                    "token --file admin.token --name me --role admin --project '*'"),
      flags.token);
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
  if (app.got_subcommand("secret-key")) return PrintSecretKey();
  // Not by CLI11, which would let the variable win over the flag: the commands share one string.
  const char* database = std::getenv("TIDEMILL_DATABASE");
  if (flags.database.empty() && database != nullptr) flags.database = database;
  if (flags.database.empty()) {
    std::fprintf(stderr, "tidemill-server: which database? Use --database or TIDEMILL_DATABASE.\n");
    return kWrongUse;
  }
  if (app.got_subcommand("migrate")) return Migrate(flags);
  if (app.got_subcommand("token")) return MakeTokenGood(flags);
  return app.got_subcommand(check) ? Check(flags) : Serve(flags);
}

}  // namespace
}  // namespace tidemill

int main(int argc, char** argv) { return tidemill::Main(argc, argv); }
