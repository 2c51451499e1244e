// SPDX-License-Identifier: Apache-2.0
#include "engine/process/process_engine.h"

#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "engine/channel/channel.h"
#include "engine/channel/folders.h"
#include "engine/channel/process_use.h"
#include "engine/process/kill_below.h"
#include "net/child.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kHelloWithin{15};
// Longer than init takes at most to kill what runs below it.
constexpr seconds kEndWithin{15};
// Then it is done from outside: a few rounds kill all but a bomb, which forks as fast as it is
// killed; after this many its init is killed whatever is left.
constexpr int kKillRounds = 200;
constexpr milliseconds kKillPause{10};
// When the engine goes, all its inits end side by side; this is for the slowest of them.
constexpr seconds kAllEndWithin{5};

class Box;

}  // namespace

struct ProcessEngine::State {
  State(AsioLoop& a_loop, ProcessEngineOptions some_options)
      : loop(a_loop), options(std::move(some_options)), folders(loop, options.state_folder) {}

  AsioLoop& loop;
  const ProcessEngineOptions options;
  ContainerFolders folders;
  std::set<std::shared_ptr<Box>> boxes;
};

namespace {

// One init, from its start until its folder is removed.
//
//   opening ──Hello──▶ open ──destroyed, broken──▶ ending ──init's end──▶ gone
//      └────────────────no Hello────────────────────▲
class Box : public ChannelEvents, public std::enable_shared_from_this<Box> {
 public:
  using Opened = Engine::Done<std::unique_ptr<Container>>;

  Box(AsioLoop& loop, ContainerFolders& folders, ContainerEvents& events, Opened opened)
      : loop_(loop), folders_(folders), events_(&events), opened_(std::move(opened)) {}
  ~Box() override { loop_.Cancel(timer_); }

  // `on_gone` is called when nothing is left.
  Result<void> Start(const std::string& init_path, const ContainerSpec& spec,
                     std::function<void()> on_gone);
  void Load(const ItemRun& program) {
    is_loop_ = true;
    if (channel_) channel_->Load(WithScratch(program), PlainArgv(program));
  }
  void NoMore() {
    if (channel_) channel_->NoMore();
  }
  void UseRole(std::string_view keys) {
    if (channel_) channel_->UseRole(keys);
  }
  void Run(const ItemRun& run) {
    if (channel_ && is_loop_) return channel_->Run(run, std::vector<std::string>{});
    if (channel_) channel_->Run(WithScratch(run), PlainArgv(run));
  }
  void Stop(std::uint64_t number) {
    if (channel_) channel_->Stop(number);
  }
  void OpenStream(const StreamStart& start) {
    if (channel_) channel_->OpenStream(start);
  }
  void SendToStream(std::uint64_t number, std::string_view bytes) {
    if (channel_) channel_->SendToStream(number, bytes);
  }
  void ResizeStream(std::uint64_t number, std::uint16_t rows, std::uint16_t columns) {
    if (channel_) channel_->ResizeStream(number, rows, columns);
  }
  void HoldStream(std::uint64_t number, bool hold) {
    if (channel_) channel_->HoldStream(number, hold);
  }
  void CloseStream(std::uint64_t number) {
    if (channel_) channel_->CloseStream(number);
  }
  bool usable() const { return channel_.has_value(); }
  ContainerUse Use() const { return child_ ? UseOf(child_->pid()) : ContainerUse{}; }
  // Its owner wants no more of it.
  void Leave() {
    events_ = nullptr;
    End();
  }
  void Close() {
    events_ = nullptr;
    opened_ = nullptr;
    channel_.reset();
  }
  // After Close.
  void EndBy(TimePoint end) {
    if (child_ && !child_->WaitFor(std::max(end - loop_.Now(), Duration::zero()))) {
      KillBelow(child_->pid());
    }
    child_.reset();
    loop_.Cancel(timer_);
    folders_.Remove(name_, [] {});
  }

  void OnHello() override;
  void OnLog(std::uint64_t number, std::string_view bytes) override {
    if (events_ != nullptr) events_->OnLog(number, bytes);
  }
  void OnProgress(std::uint64_t number, std::int32_t permille, std::string_view note) override {
    if (events_ != nullptr) events_->OnProgress(number, permille, note);
  }
  void OnEnd(const ItemEnd& end) override {
    if (events_ != nullptr) events_->OnEnd(end);
  }
  void OnStreamBytes(std::uint64_t number, bool is_error, std::string_view bytes) override {
    if (events_ != nullptr) events_->OnStreamBytes(number, is_error, bytes);
  }
  void OnStreamFull(std::uint64_t number, bool full) override {
    if (events_ != nullptr) events_->OnStreamFull(number, full);
  }
  void OnStreamEnd(std::uint64_t number, const StreamEnd& end) override {
    if (events_ != nullptr) events_->OnStreamEnd(number, end);
  }
  void OnBroken(const std::string& reason) override {
    why_ = reason;
    End();
  }

 private:
  ItemRun WithScratch(ItemRun run) const {
    run.env.push_back("TIDEMILL_SCRATCH=" + folders_.PathOf(name_) + "/scratch");
    return run;
  }
  // Our end of its stream.
  Result<Fd> StartInit(const std::string& init_path, const ContainerSpec& spec);
  void End();
  void KillAll(int rounds);
  void OnExit(int status);

  AsioLoop& loop_;
  ContainerFolders& folders_;
  ContainerEvents* events_;  // null: nobody listens any more
  Opened opened_;            // null once it has been called
  std::function<void()> on_gone_;
  std::string name_;
  std::unique_ptr<Child> child_;
  std::optional<Channel> channel_;  // none while ending
  TimerId timer_ = TimerId::kNone;
  bool is_loop_ = false;
  std::string why_;
};

class ProcessContainer : public Container {
 public:
  explicit ProcessContainer(std::shared_ptr<Box> box) : box_(std::move(box)) {}
  ~ProcessContainer() override { box_->Leave(); }
  void Load(ItemRun program) override { box_->Load(program); }
  void NoMore() override { box_->NoMore(); }
  void UseRole(std::string_view keys) override { box_->UseRole(keys); }
  void Run(ItemRun run) override { box_->Run(run); }
  void Stop(std::uint64_t number) override { box_->Stop(number); }
  ContainerUse Use() const override { return box_->Use(); }
  void OpenStream(StreamStart start) override { box_->OpenStream(start); }
  void SendToStream(std::uint64_t number, std::string_view bytes) override {
    box_->SendToStream(number, bytes);
  }
  void ResizeStream(std::uint64_t number, std::uint16_t rows, std::uint16_t columns) override {
    box_->ResizeStream(number, rows, columns);
  }
  void HoldStream(std::uint64_t number, bool hold) override { box_->HoldStream(number, hold); }
  void CloseStream(std::uint64_t number) override { box_->CloseStream(number); }
  bool usable() const override { return box_->usable(); }

 private:
  const std::shared_ptr<Box> box_;
};

Result<Fd> Box::StartInit(const std::string& init_path, const ContainerSpec& spec) {
  std::vector<std::string> argv = {init_path, "--fd", std::to_string(kChildFd), "--scratch",
                                   folders_.PathOf(name_) + "/scratch"};
  if (spec.secret_files) {
    TIDEMILL_TRY(std::string secrets, folders_.MakeSecrets(name_));
    argv.insert(argv.end(), {"--secrets", std::move(secrets)});
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Fail(Code::kUnavailable, std::string("socketpair: ") + strerror(errno));
  }
  Fd ours(ends[0]);
  TIDEMILL_TRY(child_, Child::Start(
                           loop_, argv, Fd(ends[1]), [this](int status) { OnExit(status); },
                           spec.work_folder));
  return ours;
}

Result<void> Box::Start(const std::string& init_path, const ContainerSpec& spec,
                        std::function<void()> on_gone) {
  on_gone_ = std::move(on_gone);
  TIDEMILL_TRY(name_, folders_.Make());
  auto ours = StartInit(init_path, spec);
  if (!ours) {
    folders_.Remove(name_, [] {});
    return tl::unexpected(ours.error());
  }
  channel_.emplace(loop_, *std::move(ours), *this);
  timer_ = loop_.After(kHelloWithin, [this] { OnBroken("no Hello from init in time"); });
  return {};
}

void Box::OnHello() {
  loop_.Cancel(timer_);
  std::exchange(opened_, nullptr)(std::make_unique<ProcessContainer>(shared_from_this()));
}

// Without its stream, init ends whatever runs and then itself.
void Box::End() {
  if (!channel_) return;
  channel_.reset();
  loop_.Cancel(timer_);
  timer_ = loop_.After(kEndWithin, [this] { KillAll(kKillRounds); });
}

void Box::KillAll(int rounds) {
  if (rounds == 0 || !KillBelow(child_->pid())) return child_->Kill();
  timer_ = loop_.After(kKillPause, [this, rounds] { KillAll(rounds - 1); });
}

void Box::OnExit(int status) {
  const auto self = shared_from_this();
  const std::string reason =
      (why_.empty() ? "init is gone" : why_) + " (" + DescribeExit(status) + ")";
  channel_.reset();
  loop_.Cancel(timer_);
  folders_.Remove(name_, on_gone_);
  if (opened_) {
    std::exchange(opened_, nullptr)(Fail(Code::kUnavailable, reason));
  } else if (events_ != nullptr) {
    std::exchange(events_, nullptr)->OnGone(reason);
  }
}

}  // namespace

Result<std::vector<std::string>> PlainArgv(const ItemRun& run) {
  std::vector<std::string> argv;
  for (const auto* words : {&run.entrypoint, &run.command}) {
    if (*words) argv.insert(argv.end(), (*words)->begin(), (*words)->end());
  }
  if (argv.empty()) {
    return Fail(Code::kInvalid, "name a command: without an image there is none to fall back on");
  }
  return argv;
}

ProcessEngine::ProcessEngine(AsioLoop& loop, ProcessEngineOptions options)
    : state_(std::make_shared<State>(loop, std::move(options))) {}

ProcessEngine::~ProcessEngine() {
  for (const auto& box : state_->boxes) box->Close();
  const TimePoint end = state_->loop.Now() + kAllEndWithin;
  for (const auto& box : state_->boxes) box->EndBy(end);
  state_->boxes.clear();
}

void ProcessEngine::Recover(Done<EngineInfo> done) {
  // Nothing waits for it: a folder with very many files would keep the machine from working.
  state_->folders.RemoveStale([] {});
  state_->loop.After(Duration::zero(),
                     [alive = std::weak_ptr<State>(state_), done = std::move(done)] {
                       if (!alive.expired()) done(EngineInfo{"process", false});
                     });
}

void ProcessEngine::Open(const ContainerSpec& spec, ContainerEvents& events,
                         Done<std::unique_ptr<Container>> done) {
  State* const state = state_.get();
  const auto box = std::make_shared<Box>(state->loop, state->folders, events, done);
  const auto forget = [state, key = box.get()] {
    std::erase_if(state->boxes, [key](const auto& each) { return each.get() == key; });
  };
  auto started = box->Start(state->options.init_path, spec, forget);
  if (started) {
    state->boxes.insert(box);
    return;
  }
  state->loop.After(Duration::zero(), [done = std::move(done), error = started.error()] {
    done(tl::unexpected(error));
  });
}

std::size_t ProcessEngine::containers() const { return state_->boxes.size(); }

}  // namespace tidemill
