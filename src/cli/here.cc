// SPDX-License-Identifier: Apache-2.0
#include "cli/here.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/fd.h"
#include "base/limits.h"
#include "cli/child.h"
#include "cli/docker_socket.h"
#include "cli/format.h"
#include "cli/here_plan.h"
#include "cli/item_shell.h"
#include "cli/jobs.h"
#include "cli/locate.h"
#include "model/places.h"
#include "wire/blob_json.h"
#include "wire/one_item_json.h"
#include "wire/spec_json.h"

namespace tidemill::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLook{20};
constexpr int kAgentLinesShown = 5;
constexpr std::size_t kEndBytes = 1 << 20;
constexpr std::size_t kShellLogBytes = 64 << 10;

std::int64_t MillicpusHere() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1000;
  return std::int64_t{1000} * CPU_COUNT(&set);
}

// A folder that goes with it.
class OwnFolder {
 public:
  static Result<OwnFolder> Make(const Surroundings& around) {
    const auto home = around.Env("HOME");
    const auto cache = around.Env("XDG_CACHE_HOME");
    fs::path base = cache ? fs::path(*cache) : home ? fs::path(*home) / ".cache" : fs::path("/tmp");
    base = fs::absolute(base / "tidemill" / "here");
    std::error_code error;
    fs::create_directories(base, error);
    std::string path = (base / "XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr) {
      const std::string why = error ? error.message() : std::strerror(errno);
      return Fail(Code::kInternal, "cannot make a folder in " + base.string() + ": " + why);
    }
    return OwnFolder(std::move(path));
  }
  OwnFolder(OwnFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  OwnFolder& operator=(OwnFolder&&) = delete;
  ~OwnFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  const fs::path& path() const { return path_; }

 private:
  explicit OwnFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// In memory: it holds secrets.
Result<Fd> Spoken(const std::string& text) {
  Fd fd(::memfd_create("item", MFD_CLOEXEC));
  std::string_view left = text;
  while (fd && !left.empty()) {
    const ssize_t written = ::write(fd.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Fail(Code::kInternal, "no memory for the item");
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  if (!fd || ::lseek(fd.get(), 0, SEEK_SET) != 0) {
    return Fail(Code::kInternal, "no memory for the item");
  }
  return fd;
}

class HereRun {
 public:
  HereRun(AsioLoop& loop, const Console& console, const Surroundings& around,
          const HereFlags& flags, HereWork work)
      : loop_(loop), console_(console), around_(around), flags_(flags), work_(std::move(work)) {}

  int Run() {
    for (const auto step : {&HereRun::CheckSpec, &HereRun::CheckMachine, &HereRun::MakeFolders,
                            &HereRun::StartAgent}) {
      if (const auto wrong = (this->*step)(); !wrong) {
        console_.ErrLine(wrong.error().reason);
        if (wrong.error().code == Code::kInvalid) return kWrongUse;
        return kCannotRun;
      }
    }
    int shell_exit = 0;
    if (flags_.shell) shell_exit = Shell();
    WaitForEnd();
    return Tell(shell_exit);
  }

 private:
  void Note(const std::string& text) const {
    if (!console_.quiet && !console_.json) console_.ErrLine(text);
  }
  std::string Name() const { return PublicId(work_.item.job); }

  Result<void> CheckSpec();
  Result<void> CheckMachine();
  Result<void> MakeFolders();
  Result<void> StartAgent();
  bool Pause();
  int Shell();
  void WaitForEnd();
  void ShowWaiting();
  OneEnd ReadEnd() const;
  int Tell(int shell_exit) const;

  AsioLoop& loop_;
  const Console& console_;
  const Surroundings& around_;
  const HereFlags& flags_;
  HereWork work_;
  ParsedSpec spec_;
  std::string agent_;
  std::string socket_;
  std::optional<OwnFolder> folder_;
  std::optional<Child> child_;
  TimePoint look_at_{};
  std::string waits_;  // for what, as it was told last
};

Result<void> HereRun::CheckSpec() {
  OneItem& item = work_.item;
  TIDEMILL_TRY(spec_, ParseSpec(item.job.spec.document));
  TIDEMILL_TRY(
      item.secrets,
      SecretsFor(
          spec_.run, flags_.secrets, [this](const auto& name) { return around_.Env(name); },
          [](const auto& file) { return ReadFile(file, limits::kSecretBytes); }));
  TIDEMILL_TRY(item.volumes, VolumesFor(spec_.run, flags_.volumes));
  for (auto& [name, folder] : item.volumes) {
    std::error_code error;
    folder = fs::canonical(folder, error).string();
    if (error) return Fail(Code::kInvalid, "--volume " + name + ": " + error.message());
  }
  HereEdits edits;
  const std::int64_t here = MillicpusHere();
  if (spec_.job.resources.millicpus > here) {
    edits.millicpus = here;
    Note("It asks for " + CpusText(spec_.job.resources.millicpus) + " cpus; here it has " +
         CpusText(here) + ".");
  }
  if (flags_.shell) edits.command = WaitingCommand();
  TIDEMILL_TRY(item.job.spec.document, EditForHere(item.job.spec.document, edits));
  return {};
}

Result<void> HereRun::CheckMachine() {
  const fs::path own = fs::path(around_.executable).parent_path();
  const auto agent = FindProgram("tidemill-agent", {own}, around_.Env("PATH").value_or(""));
  if (!agent) {
    return Fail(Code::kNotFound, "tidemill-agent is neither beside tidemill nor on the PATH");
  }
  agent_ = agent->string();
  if (flags_.engine != "docker") {
    if (!flags_.shell) return {};
    return Fail(Code::kInvalid, "--shell needs a container: --engine docker");
  }
  if (spec_.run.image.empty()) {
    return Fail(Code::kInvalid, "the job names no image; without containers:  --engine process");
  }
  if (flags_.shell && (::isatty(STDIN_FILENO) == 0 || !console_.out_terminal)) {
    return Fail(Code::kInvalid, "--shell needs a terminal");
  }
  socket_ = DockerSocket(around_);
  const std::string why = WhyNotReached(socket_);
  if (why.empty()) return {};
  return Fail(Code::kUnavailable, "cannot reach Docker at " + socket_ + ": " + why);
}

Result<void> HereRun::MakeFolders() {
  OneItem& item = work_.item;
  TIDEMILL_TRY(auto folder, OwnFolder::Make(around_));
  folder_.emplace(std::move(folder));
  const std::string out =
      flags_.out.empty() ? "out/" + Name() + "-" + std::to_string(item.item) : flags_.out;
  item.out = fs::absolute(out).lexically_normal().string();
  while (item.out.size() > 1 && item.out.ends_with('/')) item.out.pop_back();
  if (item.job.project.empty()) item.job.project = "here";
  if (work_.code.empty()) return {};
  const std::string sha256(BlobNameOf(spec_.run.code));
  const fs::path blob = BlobPlace((folder_->path() / "objects").string(), item.job.project, sha256);
  std::error_code error;
  fs::create_directories(blob.parent_path(), error);
  std::ofstream file(blob, std::ios::binary);
  file << work_.code;
  file.close();
  if (!file) return Fail(Code::kInternal, "cannot write " + blob.string());
  return {};
}

Result<void> HereRun::StartAgent() {
  const OneItem& item = work_.item;
  const std::string& image = spec_.run.image;
  Note(Name() + " item " + std::to_string(item.item) +
       " runs here: " + (image.empty() ? "" : "image " + image + ", ") + NeedsText(spec_.job));
  TIDEMILL_TRY(const Fd input, Spoken(FormatOneItem(item)));
  const std::string state = folder_->path().string();
  ChildPlan plan;
  plan.command = {agent_,     "once",       "--state", state, "--end", state + "/end.json",
                  "--engine", flags_.engine};
  if (!socket_.empty()) plan.command.insert(plan.command.end(), {"--docker-socket", socket_});
  for (const std::string& device : flags_.devices) {
    plan.command.insert(plan.command.end(), {"--device", device});
  }
  plan.log = folder_->path() / "agent.log";
  plan.input = input.get();
  // Programs read our standard output; so does nobody but them.
  plan.output = console_.json ? STDERR_FILENO : STDOUT_FILENO;
  std::optional<Fd> file;
  if (flags_.shell) {
    file.emplace(::open((state + "/item.log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    plan.output = file->get();
  }
  TIDEMILL_TRY(auto child, Child::Start(plan));
  child_.emplace(std::move(child));
  loop_.OnSignal({SIGINT, SIGTERM}, [this, count = 0](int) mutable {
    if (++count == 1) {
      child_->Signal(SIGINT);
    } else {
      child_->Kill();
    }
  });
  return {};
}

// False: the agent has ended.
bool HereRun::Pause() {
  loop_.After(kLook, [this] { loop_.Stop(); });
  loop_.Run();
  return !child_->Ended();
}

void HereRun::WaitForEnd() {
  while (Pause()) ShowWaiting();
}

// An image may take long to pull. Looked at once a second.
void HereRun::ShowWaiting() {
  if (loop_.Now() < look_at_) return;
  look_at_ = loop_.Now() + std::chrono::seconds(1);
  const std::string waits = ReadFile(folder_->path() / "waits", kEndBytes).value_or("");
  if (waits.empty() || waits == waits_) return;
  waits_ = waits;
  Note(Printable(waits));
}

int HereRun::Shell() {
  const fs::path log = folder_->path() / "item.log";
  while (!IsWaiting(ReadFile(log, kShellLogBytes).value_or(""))) {
    if (!Pause()) return kCannotRun;
    ShowWaiting();
  }
  std::string id;
  std::istringstream lines(ReadFile(folder_->path() / "agent", kEndBytes).value_or(""));
  for (std::string name, value; lines >> name >> value;) {
    if (name == "id") id = value;
  }
  Note(
      "Its variables and inputs are in place; its outputs are kept if the shell ends with exit 0.");
  const auto exit = OpenShell(around_, socket_, id);
  if (exit) return *exit;
  console_.ErrLine(exit.error().reason);
  child_->Signal(SIGTERM);
  return kCannotRun;
}

OneEnd HereRun::ReadEnd() const {
  const auto text = ReadFile(folder_->path() / "end.json", kEndBytes);
  if (text) {
    if (auto end = ParseOneEnd(*text)) return *std::move(end);
  }
  const std::string last = LastLines(folder_->path() / "agent.log", 0, kAgentLinesShown);
  return {.outcome = {}, .reason = "tidemill-agent has broken off:\n" + last};
}

int HereRun::Tell(int shell_exit) const {
  const OneEnd end = ReadEnd();
  const OneItem& item = work_.item;
  const bool is_stored =
      end.outcome && end.outcome->cause == Cause::kSucceeded && !spec_.run.outputs.empty();
  if (console_.json) {
    HereAnswer answer{.job = Name(), .end = end, .text = item.text};
    if (is_stored) answer.out = item.out;
    answer.fleet = work_.fleet;
    console_.Line(FormatHereAnswer(answer));
  } else if (!end.outcome) {
    console_.ErrLine(Name() + " item " + std::to_string(item.item) +
                     " could not be run: " + end.reason);
  } else {
    Note(Name() + " item " + std::to_string(item.item) + ": " + OutcomeText(*end.outcome));
    if (work_.fleet) {
      Note("On the fleet: " + OutcomeText(*work_.fleet) + ", on " +
           Printable(work_.fleet->machine));
    }
    if (is_stored) Note("Its outputs are in " + item.out);
  }
  if (flags_.shell && end.outcome) return shell_exit;
  return ExitOfEnd(end);
}

}  // namespace

int RunHere(AsioLoop& loop, const Console& console, const Surroundings& around,
            const HereFlags& flags, HereWork work) {
  return HereRun(loop, console, around, flags, std::move(work)).Run();
}

}  // namespace tidemill::cli
