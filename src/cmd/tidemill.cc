// SPDX-License-Identifier: Apache-2.0
// tidemill: flags, construction, run.
#include <fcntl.h>
#include <nss.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/limits.h"
#include "base/random.h"
#include "cli/add.h"
#include "cli/change.h"
#include "cli/client.h"
#include "cli/console.h"
#include "cli/failures.h"
#include "cli/history.h"
#include "cli/items.h"
#include "cli/jobs.h"
#include "cli/locate.h"
#include "cli/logs.h"
#include "cli/machines.h"
#include "cli/results.h"
#include "cli/submit.h"
#include "cli/target.h"
#include "cli/up.h"
#include "cli/usage.h"
#include "cli/watch.h"
#include "cloud/world.h"
#include "cmd/access_commands.h"
#include "cmd/bucket_command.h"
#include "cmd/command_list.h"
#include "cmd/env_commands.h"
#include "cmd/item_commands.h"
#include "cmd/plan_commands.h"
#include "cmd/settings_commands.h"
#include "cmd/shell_command.h"
#include "cmd/simulate_command.h"
#include "cmd/wish_options.h"
#include "net/asio_loop.h"
#include "net/http.h"
#include "net/thread_pool.h"
#include "net/tls.h"
#include "objects/open.h"
#include "wire/nearest.h"

namespace tidemill::cli {
namespace {

struct Flags {
  CommonFlags common;
  std::string job;
  std::string then;  // what watch runs in the end
  bool failed = false;
  RetryFlags retry;
  ResultsFlags results;
  HistoryFlags history;
  JobsFlags jobs;
  ItemsFlags items;
  LogsFlags logs;
  SubmitFlags submit;
  AddFlags add;
  UpFlags up;
};

Surroundings AskSystem() {
  Surroundings around;
  around.env = [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
  around.now_ms = [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  };
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  if (localtime_r(&now, &local) != nullptr) around.zone_s = local.tm_gmtoff;
  around.world = SystemWorld;
  std::error_code error;
  around.executable = std::filesystem::read_symlink("/proc/self/exe", error).string();
  around.version = TIDEMILL_VERSION;
  return around;
}

Console OpenConsole(const Surroundings& around, const Flags& flags) {
  Console console;
  const auto to = [](FILE* file) {
    return [file](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), file);
      std::fflush(file);
    };
  };
  console.out = to(stdout);
  console.err = to(stderr);
  console.out_terminal = ::isatty(STDOUT_FILENO) == 1;
  console.err_terminal = ::isatty(STDERR_FILENO) == 1;
  const bool dumb = around.Env("TERM").value_or("") == "dumb";
  console.colours = console.out_terminal && !around.Env("NO_COLOR") && !dumb;
  winsize size{};
  constexpr unsigned kLeastColumns = 40;
  if (console.out_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    console.columns = std::min<std::size_t>(std::max<unsigned>(size.ws_col, kLeastColumns), 100);
  }
  console.json = flags.common.json;
  console.quiet = flags.common.quiet;
  return console;
}

// Makes the client for whoever needs a server.
int WithServer(const Console& console, const Surroundings& around, const TargetFlags& flags,
               const std::function<int(const Context&)>& command) {
  const auto target = FindTarget(around, ::geteuid() == 0, flags);
  if (!target) return ExplainTarget(console, target.error());
  auto origin = ParseSafeUrl(target->url);
  if (!origin) {
    console.ErrLine("'" + target->url + "' is not a server's address: " + origin.error().reason);
    return kWrongUse;
  }
  const auto trust = TrustOf(*target, *origin);
  if (!trust) {
    console.ErrLine("--ca: " + trust.error().reason);
    return kWrongUse;
  }
  AsioLoop loop;
  Client client(loop, console, target->url, *std::move(origin), *trust,
                {.token = target->token, .project = target->project});
  return command({console, around, client, *target});
}

int Logs(const Context& context, Flags flags) {
  flags.logs.job = flags.job;
  if (flags.logs.item.has_value() != flags.logs.grep.empty()) {
    context.console.ErrLine("say whose log, with --item, or what to search for, with --grep");
    return kWrongUse;
  }
  return ShowLogs(context, flags.logs);
}

// The commands and their flags, in the order of the help.
class CommandLine {
 public:
  explicit CommandLine(Flags& flags) : flags_(flags) {
    app_.set_version_flag("--version", std::string("tidemill ") + TIDEMILL_VERSION);
    app_.require_subcommand(1);
    app_.footer("Example:\n  tidemill up\n  tidemill submit --example hello --watch\n");
    AddUp();
    env_.emplace(list_);
    item_.emplace(list_);
    AddSubmit();
    bucket_.emplace(list_);
    AddReads();
    plan_.emplace(list_);
    simulate_.emplace(list_);
    AddHistory();
    AddLogs();
    shell_.emplace(list_);
    AddChanges();
    Add("machines", "List the machines that have joined.", "machines",
        [](const Context& context) { return ListMachines(context); });
    settings_.emplace(list_);
    access_.emplace(list_);
    version_ = app_.add_subcommand("version", "Say which version this is.");
    version_->add_flag("--json", flags_.common.json, "For programs");
    version_->footer("Example:\n  tidemill version\n");
  }

  CLI::App& app() { return app_; }
  bool got_version() const { return version_->parsed(); }
  void Parse(int argc, char** argv) { app_.parse(shell_->TakeCommand(argc, argv), argv); }
  const Command* Chosen() const { return list_.Chosen(); }

 private:
  CLI::App* Add(const std::string& name, const std::string& about, const std::string& example,
                std::function<int(const Context&)> run) {
    return list_.Add(&app_, Scope::kProject, name, about, example, std::move(run));
  }

  CLI::App* AddJob(const std::string& name, const std::string& about, const std::string& example,
                   std::function<int(const Context&)> run) {
    CLI::App* const command = Add(name, about, example, std::move(run));
    command->add_option("JOB", flags_.job, "As render-7, or its number")
        ->required()
        ->option_text(" ");
    return command;
  }

  void AddUp() {
    CLI::App* const up = list_.AddHere(
        &app_, "up", "Run PostgreSQL, a server and an agent here, until Ctrl-C.",
        "up --engine process", [this](const Console& console, const Surroundings& around) {
          AsioLoop loop;
          return Up(loop, console, around, flags_.up);
        });
    up->add_option("--engine", flags_.up.engine,
                   "What runs items; process means without containers")
        ->option_text("docker|process")
        ->check(CLI::IsMember({"docker", "process"}));
    up->add_option("--data", flags_.up.data, "Where everything is kept")->type_name("DIR");
    up->add_option("--port", flags_.up.port, "Of the server; else as the last time")
        ->option_text("N")
        ->check(CLI::Range(1, 65'535));
    up->add_option("--cpus", flags_.up.cpus, "For items; else all of them")->type_name("N");
    up->add_option("--memory", flags_.up.memory, "For items; else all of it")->type_name("SIZE");
    up->add_option("--objects", flags_.up.objects,
                   "Where logs and results are kept; else with the rest")
        ->type_name("URL");
  }

  void AddSubmit() {
    SubmitFlags& submit = flags_.submit;
    CLI::App* const command =
        Add("submit", "Make a job of a spec and a list of items.",
            "submit render.yaml --items scenes.txt --watch", [this](const Context& context) {
              SystemRandom random;
              return Submit(context, random, flags_.submit);
            });
    auto* const spec =
        command->add_option("SPEC", submit.spec, "A YAML file, -, or a kept spec: NAME, NAME@3");
    spec->option_text(" ");
    auto* const example =
        command->add_option("--example", submit.example, "A spec that is built in: hello");
    example->option_text("NAME");
    spec->excludes(example);
    auto* const items = command->add_option("--items", submit.items,
                                            "A list, -, or a pattern: 's3://bucket/in/**/*.jpg'");
    items->option_text("FILE|URL");
    command->add_option("--upload", submit.upload, "Store files that items name below this URL")
        ->option_text("URL")
        ->needs(items);
    command->add_option("--range", submit.range, "So many items: the numbers from 0 on")
        ->option_text("N")
        ->check(CLI::Range(std::int64_t{1}, limits::kItemsPerJob))
        ->excludes(items);
    command->add_option("--env", submit.env, "Set a variable of the items; may be repeated")
        ->option_text("NAME=VALUE")
        ->allow_extra_args(false);
    command->add_option("--set", submit.params, "Set a param of the spec; may be repeated")
        ->option_text("NAME=VALUE")
        ->allow_extra_args(false);
    AddWishOptions(command, submit.wishes);
    command->add_option("--name", submit.name, "What the job is called; else as the spec says")
        ->option_text("NAME");
    command->add_option("--key", submit.key, "The same key means the same job")->option_text("KEY");
    command->add_flag("--open", submit.open, "Take more items while it runs: tidemill add");
    command->add_flag("--watch", submit.watch, "Follow it to its end");
    command->add_option("--then", submit.then, "Follow it, and run this when it is over")
        ->option_text("COMMAND");
    list_.SetMissing([&submit]() -> std::string {
      if (!submit.spec.empty() || !submit.example.empty()) return "";
      return "which spec?  tidemill submit render.yaml, or tidemill submit --example hello";
    });
  }

  void AddReads() {
    CLI::App* const jobs = Add("jobs", "List jobs, the newest first.", "jobs --state active",
                               [this](const Context& c) { return ListJobs(c, flags_.jobs); });
    jobs->add_option("--state", flags_.jobs.state,
                     "Only those that are draft, active, paused, finished ...")
        ->option_text("STATE")
        ->check(
            CLI::IsMember({"draft", "active", "paused", "finished", "cancelling", "cancelled"}));
    jobs->add_flag("--all", flags_.jobs.all, "Not only the newest");
    AddJob("show", "Show a job.", "show render-7",
           [this](const Context& c) { return ShowJob(c, flags_.job); });
    AddJob("watch", "Follow a job to its end. Ctrl-C leaves it running.",
           "watch render-7 --then 'notify-send \"$TIDEMILL_JOB: $TIDEMILL_EVENT\"'",
           [this](const Context& c) { return Watch(c, flags_.job, flags_.then); })
        ->add_option("--then", flags_.then,
                     "Run this when it is over, paused by the system, or out of budget")
        ->option_text("COMMAND");
    CLI::App* const items = AddJob("items", "List a job's items and how they ended.",
                                   "items render-7 --state failed", [this](const Context& c) {
                                     flags_.items.job = flags_.job;
                                     return ListItems(c, flags_.items);
                                   });
    items
        ->add_option("--state", flags_.items.state,
                     "Only those that are waiting, running, succeeded, failed ...")
        ->option_text("STATE")
        ->check(CLI::IsMember({"waiting", "running", "succeeded", "failed", "cancelled"}));
    items->add_option("--limit", flags_.items.limit, "At most so many; 50 unless told")
        ->option_text("N")
        ->check(CLI::Range(std::int64_t{1}, limits::kItemsPerJob));
    AddJob("failures", "Say why items failed: those that failed alike are one group.",
           "failures render-7", [this](const Context& c) { return ShowFailures(c, flags_.job); });
    CLI::App* const results = AddJob("results", "Write what became of every attempt, as a table.",
                                     "results render-7 -o results.csv", [this](const Context& c) {
                                       flags_.results.job = flags_.job;
                                       return WriteResults(c, flags_.results);
                                     });
    results
        ->add_option("-o,--output", flags_.results.out,
                     "A file that ends with .csv, .jsonl or .jsonl.zst; - is standard output")
        ->required()
        ->option_text("FILE");
    AddJob("usage", "What a job's items ask for, what they take, and what to ask for.",
           "usage render-7", [this](const Context& c) { return ShowUsage(c, flags_.job); });
  }

  void AddHistory() {
    CLI::App* const group =
        list_.AddGroup("history", "Jobs whose server is gone, as their ledger tells them.",
                       "history open s3://bucket/jobs/films/render-7");
    CLI::App* const open =
        list_.AddHere(group, "open", "Show a job without a server: its state, counts and failures.",
                      "history open s3://bucket/jobs/films/render-7 -o results.csv",
                      [this](const Console& console, const Surroundings& around) {
                        AsioLoop loop;
                        ThreadPool pool(loop, 1);
                        SystemRandom random;
                        const CloudWorld world = SystemWorld();
                        ObjectStores objects({loop, pool, random, world});
                        return OpenHistory(loop, objects, console, around, flags_.history);
                      });
    open->add_option("URL", flags_.history.url, "The job's folder: s3://, gs:// or file://")
        ->required()
        ->option_text(" ");
    open->add_option("-o,--output", flags_.history.out,
                     "Write its results, too: .csv, .jsonl, .jsonl.zst; - is standard output")
        ->option_text("FILE");
  }

  void AddLogs() {
    CLI::App* const logs = AddJob("logs", "Print what an item wrote, or search what all wrote.",
                                  "logs render-7 --item 4711 --follow",
                                  [this](const Context& c) { return Logs(c, flags_); });
    auto* const item = logs->add_option("--item", flags_.logs.item, "Its number")->option_text("N");
    logs->add_option("--tail", flags_.logs.tail, "Only the last lines")
        ->option_text("LINES")
        ->check(CLI::Range(1, 100'000))
        ->needs(item);
    logs->add_flag("--follow", flags_.logs.follow, "Go on until the item is over")->needs(item);
    logs->add_option("--attempt", flags_.logs.attempt, "Not the newest one")
        ->type_name("N")
        ->check(CLI::Range(1, std::numeric_limits<std::int32_t>::max()))
        ->needs(item);
    auto* const grep = logs->add_option("--grep", flags_.logs.grep,
                                        "Search the logs of all items for this, as RE2 has it")
                           ->type_name("RE")
                           ->excludes(item);
    logs->add_option("--state", flags_.logs.state, "Search only items that are so")
        ->check(CLI::IsMember({"waiting", "running", "succeeded", "failed", "cancelled"}))
        ->needs(grep);
  }

  void AddChanges() {
    CLI::App* const add = AddJob("add", "Add items to a job that is open.",
                                 "add thumbs-7 --items new.txt", [this](const Context& c) {
                                   SystemRandom random;
                                   flags_.add.job = flags_.job;
                                   return AddItems(c, random, flags_.add);
                                 });
    add->add_option("--items", flags_.add.items,
                    "A list, -, or a pattern: 's3://bucket/in/**/*.jpg'")
        ->option_text("FILE|URL")
        ->required();
    add->add_option("--key", flags_.add.key, "The same key and list are added once")
        ->option_text("KEY");
    AddJob("close", "Take no more items; an open job then ends when all are done.",
           "close thumbs-7", [this](const Context& c) { return CloseJob(c, flags_.job); });
    AddJob("cancel", "Stop a job for good.", "cancel render-7",
           [this](const Context& c) { return CancelJob(c, flags_.job); });
    AddJob("pause", "Start nothing new of a job; what runs goes on.", "pause render-7",
           [this](const Context& c) { return PauseJob(c, flags_.job); });
    AddJob("resume", "Go on with a paused job.", "resume render-7",
           [this](const Context& c) { return ResumeJob(c, flags_.job); });
    CLI::App* const retry = AddJob("retry", "Run items that are done once more.",
                                   "retry render-7 --failed", [this](const Context& c) {
                                     flags_.retry.job = flags_.job;
                                     return RetryJob(c, flags_.retry);
                                   });
    auto* const failed = retry->add_flag("--failed", flags_.failed, "All that have failed");
    failed->option_text(" ");
    auto* const some =
        retry->add_option("--items,--item", flags_.retry.items, "These, as 3,17; may be repeated")
            ->delimiter(',')
            ->option_text("N,N");
    auto* const group =
        retry->add_option("--group", flags_.retry.group, "Those of a group of tidemill failures")
            ->option_text("N")
            ->check(CLI::Range(1, 1'000'000));
    failed->excludes(some)->excludes(group);
    some->excludes(group);
    list_.SetMissing([this]() -> std::string {
      const RetryFlags& retry_flags = flags_.retry;
      if (flags_.failed || !retry_flags.items.empty() || retry_flags.group > 0) return "";
      return "which items?  --failed for all that have failed, --group N, or --items N,N";
    });
  }

  Flags& flags_;
  CLI::App app_{"Runs a great many independent items in your container images.", "tidemill"};
  CommandList list_{app_, flags_.common};
  std::optional<EnvCommands> env_;
  std::optional<ItemCommands> item_;
  std::optional<BucketCommand> bucket_;
  std::optional<PlanCommands> plan_;
  std::optional<SimulateCommand> simulate_;
  std::optional<ShellCommandLine> shell_;
  std::optional<SettingsCommands> settings_;
  std::optional<AccessCommands> access_;
  CLI::App* version_ = nullptr;
};

// CLI11 says no more of a command that is not known than that one is required.
std::string UnknownCommand(CLI::App& app, int argc, char** argv) {
  CLI::App* at = &app;
  std::string said;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::vector<CLI::App*> commands = at->get_subcommands({});
    if (commands.empty()) return "";
    const auto found = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
      return command->get_name() == argv[i];
    });
    if (found == commands.end()) {
      std::vector<std::string> names;
      for (const CLI::App* command : commands) names.push_back(command->get_name());
      const std::vector<std::string_view> known(names.begin(), names.end());
      return "no command '" + said + argv[i] + "'; " + HintFor(argv[i], known);
    }
    at = *found;
    said += at->get_name() + " ";
  }
  return "";
}

// A descriptor of 0 to 2 that is closed would be given to the next socket, and be taken for our
// input or output.
void FillStandardFds() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) == -1 && ::open("/dev/null", O_RDWR) < 0) std::abort();
  }
}

int Main(int argc, char** argv) {
  FillStandardFds();
  // A static program must not load the host's name service libraries.
  __nss_configure_lookup("hosts", "files dns");
  Flags flags;
  CommandLine line(flags);
  if (const std::string unknown = UnknownCommand(line.app(), argc, argv); !unknown.empty()) {
    std::fprintf(stderr, "%s\n", unknown.c_str());
    return kWrongUse;
  }
  try {
    line.Parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return line.app().exit(error) == 0 ? kDone : kWrongUse;
  }
  const Surroundings around = AskSystem();
  const Console console = OpenConsole(around, flags);
  if (line.got_version()) {
    console.Line(flags.common.json ? "{\"version\":\"" TIDEMILL_VERSION "\"}"
                                   : "tidemill " TIDEMILL_VERSION);
    return kDone;
  }
  const Command* const command = line.Chosen();
  if (const std::string missing = command->missing ? command->missing() : ""; !missing.empty()) {
    console.ErrLine(missing);
    return kWrongUse;
  }
  const bool needs_server = command->needs_server && command->needs_server();
  if (command->run_here && !needs_server) return command->run_here(console, around);
  return WithServer(console, around, flags.common.target, command->run);
}

}  // namespace
}  // namespace tidemill::cli

int main(int argc, char** argv) { return tidemill::cli::Main(argc, argv); }
