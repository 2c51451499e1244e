// SPDX-License-Identifier: Apache-2.0
#pragma once
// tidemill-agent once: one item, on a machine that no server knows.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "agent/agent.h"
#include "agent/one_item_link.h"
#include "agent/outputs_here.h"
#include "agent/shell/code_folders.h"
#include "agent/shell/device_check.h"
#include "agent/shell/printed_logs.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/random.h"
#include "cloud/world.h"
#include "cmd/agent_engine.h"
#include "cmd/agent_flags.h"
#include "data/mover/data_thread.h"
#include "net/asio_loop.h"
#include "net/thread_pool.h"
#include "objects/open.h"
#include "wire/one_item_json.h"
#include "wire/spec_json.h"

namespace tidemill {

struct OnceFlags {
  std::string lease = "-";
  std::string end;
};

inline CLI::App* AddOnce(CLI::App& app, OnceFlags& flags) {
  CLI::App* const once = app.add_subcommand(
      "once", "Run one item, without servers; what it writes goes to standard output.");
  once->fallthrough();
  once->add_option("--lease", flags.lease,
                   "The item, as tidemill run and tidemill replay give it; - is standard input")
      ->type_name("FILE")
      ->capture_default_str();
  once->add_option("--end", flags.end, "Takes what became of it, as JSON")
      ->type_name("FILE")
      ->required();
  once->footer("Example:\n  tidemill-agent once --state /tmp/one --end end.json < item.json\n");
  return once;
}

// Why the machine cannot run it; empty: it can. Processors and memory are the caller's business.
inline std::string MissingDevices(const Resources& each, const Devices& here) {
  for (const auto& [kind, asked] : each.devices) {
    if (kind == kWholeMachine) continue;
    const auto found = here.find(kind);
    const auto count = found == here.end() ? 0 : found->second.count;
    if (count >= asked.count && count > 0) continue;
    return "it asks for " + std::to_string(asked.count) + " " + kind + ", and this machine has " +
           (count == 0 ? "none" : std::to_string(count));
  }
  return "";
}

// One run of one item, from its lease to its end.
class OnceRun {
 public:
  OnceRun(AgentFlags flags, OnceFlags once) : flags_(std::move(flags)), once_(std::move(once)) {
    // They are the person's own files, with the person's own rights.
    flags_.files = {"/"};
    flags_.give_up = "never";
  }

  int Run() {
    std::signal(SIGPIPE, SIG_IGN);
    auto item = Read();
    if (!item) return Wrong("--lease: " + item.error().reason);
    auto folder = StateFolder::Open(flags_.state, random_);
    if (!folder) return Wrong("--state: " + folder.error().reason);
    const auto spec = ParseSpec(item->job.spec.document);
    if (!spec) return Wrong("--lease: " + spec.error().reason);
    auto options = OptionsOf(flags_, **folder, {}, log_);
    if (!options) return Wrong(options.error().reason);
    const std::string missing = MissingDevices(spec->job.resources, options->shape.devices);
    if (!missing.empty()) return Write({.outcome = {}, .reason = missing});
    for (const auto& [name, path] : item->volumes) options->host_folders.push_back(path);
    options->limits.engine_outage = kPatience;
    // It has the limit that it has on the fleet, also if the machine has less.
    options->shape.memory_bytes = std::max(
        {options->shape.memory_bytes, spec->job.resources.memory_bytes, item->memory_bytes});
    item->job.objects = "file://" + std::filesystem::absolute(flags_.state).string() + "/objects";
    if (item->job.project.empty()) item->job.project = "here";
    return RunIn(**folder, *std::move(options), *std::move(item));
  }

 private:
  // An engine has this long to answer.
  static constexpr std::chrono::seconds kEngineTime{60};
  // A registry that cannot be reached is told to the person who waits, not tried for long.
  static constexpr std::chrono::seconds kPatience{10};
  // For containers to be gone.
  static constexpr std::chrono::seconds kCloseTime{10};
  static constexpr std::size_t kLeaseBytes = 64 << 20;

  static int Wrong(const std::string& why) {
    std::fprintf(stderr, "tidemill-agent once: %s\n", why.c_str());
    return 2;
  }

  Result<OneItem> Read() const {
    const Fd file(once_.lease == "-" ? ::dup(STDIN_FILENO)
                                     : ::open(once_.lease.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 64 << 10> piece;
    ssize_t got = 0;
    while (file && (got = ::read(file.get(), piece.data(), piece.size())) > 0) {
      text.append(piece.data(), static_cast<std::size_t>(got));
      if (text.size() > kLeaseBytes) return Fail(Code::kInvalid, "it is too long");
    }
    if (!file || got < 0) return Fail(Code::kInvalid, "cannot read " + once_.lease);
    return ParseOneItem(text);
  }

  int Write(const OneEnd& end) const {
    std::ofstream file(once_.end, std::ios::trunc);
    file << FormatOneEnd(end) << '\n';
    file.close();
    return file ? 0 : Wrong("--end: cannot write " + once_.end);
  }

  void StopWhenEmpty(const Engine& engine) {
    if (engine.containers() == 0) return loop_.Stop();
    loop_.After(std::chrono::milliseconds(20), [this, &engine] { StopWhenEmpty(engine); });
  }

  void Leave(Agent& agent, const Engine& engine) {
    if (std::exchange(leaving_, true)) return;
    const AgentLimits limits;
    loop_.After(limits.leave_grace + limits.leave_save + limits.leave_time + kCloseTime,
                [this] { loop_.Stop(); });
    agent.Leave([this, &engine] { StopWhenEmpty(engine); });
  }

  // The first tells the item to end; a second one does not wait for it.
  void HandleSignals(Agent& agent, const Engine& engine) {
    loop_.OnSignal({SIGTERM, SIGINT}, [this, &agent, &engine, seen = false](int signal) mutable {
      if (std::exchange(seen, true)) std::_Exit(128 + signal);
      Leave(agent, engine);
    });
  }

  int RunIn(StateFolder& folder, AgentOptions options, OneItem item) {
    auto roles_options = RolesOf(flags_.cloud_registries);
    if (!roles_options) return Wrong(roles_options.error().reason);
    const CloudWorld world = SystemWorld();
    ThreadPool files(loop_, 2);
    ObjectStores objects({loop_, files, random_, world});
    RegistryRoles roles(loop_, *std::move(roles_options));
    const std::unique_ptr<Engine> engine = MakeEngine(flags_, loop_, folder, roles);
    DataThread data(loop_, {folder.data(), world, FilesOf(flags_), 0});
    OutputsHere outputs(loop_, data, item.out);
    CodeFolders code(objects, files, folder.code());
    RealDeviceCheck check(loop_, CheckOf(flags_.devices));
    PrintedLogs logs(STDOUT_FILENO);
    Agent* running = nullptr;
    const auto over = [this, &running, &engine](OneEnd end) {
      end_ = std::move(end);
      Leave(*running, *engine);
    };
    // For whoever waits beside us.
    const auto waits = [path = flags_.state + "/waits"](const std::string& text) {
      std::ofstream(path, std::ios::trunc) << text;
    };
    OneItemLink link(loop_, random_, std::move(item), {over, waits});
    Agent agent({loop_, link, *engine, random_, log_, logs, folder, &outputs, &code, &data, &check},
                options);
    running = &agent;
    agent.Start();
    HandleSignals(agent, *engine);
    loop_.After(kEngineTime, [this, &link, &agent, &engine] {
      if (link.given() || end_) return;
      end_ = OneEnd{.outcome = {}, .reason = "what runs containers does not answer"};
      Leave(agent, *engine);
    });
    loop_.Run();
    return Write(end_.value_or(OneEnd{.outcome = {}, .reason = "it was told to end"}));
  }

  AgentFlags flags_;
  const OnceFlags once_;
  SystemRandom random_;
  StderrLog log_;
  AsioLoop loop_;
  std::optional<OneEnd> end_;
  bool leaving_ = false;
};

}  // namespace tidemill
