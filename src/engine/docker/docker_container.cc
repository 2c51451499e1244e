// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/docker_container.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/channel/process_use.h"
#include "engine/docker/docker_mounts.h"
#include "engine/docker/docker_network.h"
#include "engine/docker/image_words.h"
#include "engine/docker/spec_label.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kHelloWithin{15};
// An init whose stream was cut tries to come back five times a second.
constexpr seconds kReturnWithin{10};
constexpr milliseconds kGreetingPause{5};
// The Engine is asked how a container ended only as long as somebody would wait for it.
constexpr seconds kExplainWithin{5};
constexpr seconds kInspectWithin{30};
// Between tries to remove it: soon at first, for the Engine may be at it already, then as seldom as
// the sweep. There is no last try: what cannot be removed is still there.
constexpr milliseconds kFirstPause{50};
constexpr seconds kLastPause{30};
// Between two looks at what a container has written: each reads all its folders.
constexpr seconds kDiskEvery{5};
constexpr milliseconds kLoopPeakEvery{100};
constexpr std::size_t kPeersMost = 4;
// More than a build of many processes needs; a fork bomb ends here.
constexpr std::int64_t kPidsMost = 4096;
// What databases and web servers ask for, and not the Engine's million or more: programs that close
// all descriptors one by one would take seconds for it. Where nobody may raise our own limit, the
// Engine cannot raise a container's either.
std::int64_t OpenFilesMost() {
  constexpr rlim_t kWanted = 65'536;
  rlimit ours{};
  if (getrlimit(RLIMIT_NOFILE, &ours) != 0) return kWanted;
  return static_cast<std::int64_t>(std::min(kWanted, ours.rlim_max));
}
// Of a /tmp in memory; the container's own limit holds as well.
constexpr std::int64_t kTmpBytes = std::int64_t{1} << 30;

constexpr char kInitInside[] = "/.tidemill/init";
constexpr char kRunInside[] = "/.tidemill/run";
constexpr char kSocketName[] = "agent.sock";
constexpr char kScratchInside[] = "/.tidemill/scratch";
constexpr char kSecretsInside[] = "/run/tidemill/secrets";
// Twice what the secrets of a job can be. Whoever the image's user is makes a folder of its own
// there.
constexpr char kSecretsOptions[] = "rw,noexec,nosuid,nodev,size=1m,mode=1777";

class Handle : public Container {
 public:
  explicit Handle(std::shared_ptr<DockerContainer> container) : container_(std::move(container)) {}
  ~Handle() override { container_->Leave(); }
  void Load(ItemRun program) override { container_->Load(std::move(program)); }
  void NoMore() override { container_->NoMore(); }
  void UseRole(std::string_view keys) override { container_->UseRole(keys); }
  void Run(ItemRun run) override { container_->Run(std::move(run)); }
  void Stop(std::uint64_t number) override { container_->Stop(number); }
  ContainerUse Use() const override { return container_->Use(); }
  void OpenStream(StreamStart start) override { container_->OpenStream(start); }
  void SendToStream(std::uint64_t number, std::string_view bytes) override {
    container_->SendToStream(number, bytes);
  }
  void ResizeStream(std::uint64_t number, std::uint16_t rows, std::uint16_t columns) override {
    container_->ResizeStream(number, rows, columns);
  }
  void HoldStream(std::uint64_t number, bool hold) override {
    container_->HoldStream(number, hold);
  }
  void CloseStream(std::uint64_t number) override { container_->CloseStream(number); }
  bool usable() const override { return container_->usable(); }

 private:
  const std::shared_ptr<DockerContainer> container_;
};

}  // namespace

DockerContainer::DockerContainer(const DockerDeps& deps, ContainerSpec spec,
                                 ContainerEvents& events, Opened opened)
    : deps_(deps), spec_(std::move(spec)), events_(&events), opened_(std::move(opened)) {}

DockerContainer::DockerContainer(const DockerDeps& deps, ContainerSpec spec, std::string folder,
                                 std::int64_t pid)
    : deps_(deps),
      spec_(std::move(spec)),
      events_(nullptr),
      folder_(std::move(folder)),
      name_(kDockerNamePrefix + folder_),
      pid_(pid) {}

DockerContainer::~DockerContainer() {
  deps_.loop.Cancel(timer_);
  deps_.loop.Cancel(greet_timer_);
}

void DockerContainer::Open(std::function<void()> on_gone) {
  on_gone_ = std::move(on_gone);
  DockerImages::Ask ask{spec_.image, spec_.job, std::exchange(spec_.login, std::nullopt)};
  deps_.images.Get(std::move(ask), [self = shared_from_this()](Result<DockerImage> image) {
    if (self->closed_) return;
    if (!image) return self->Fail(std::move(image).error());
    self->image_ = *std::move(image);
    self->Join();
  });
}

// Somebody may have removed the network since the last container.
void DockerContainer::Join() {
  if (spec_.policy.no_network) return Create();
  EnsureNetwork(deps_.api, [self = shared_from_this()](Result<void> ensured) {
    if (self->closed_ || self->ending_) return;
    if (!ensured) return self->Fail(std::move(ensured).error());
    self->Create();
  });
}

void DockerContainer::Create() {
  auto folder = deps_.folders.Make();
  if (!folder) return Fail(std::move(folder).error());
  folder_ = *std::move(folder);
  const std::string socket = deps_.folders.PathOf(folder_) + "/run/" + kSocketName;
  auto listener =
      UnixListener::Listen(deps_.loop, socket, [this](UnixPeer peer) { OnPeer(std::move(peer)); });
  if (!listener) return Fail(std::move(listener).error());
  listener_ = *std::move(listener);
  auto way = WayOf(spec_.devices, deps_.abilities);
  if (!way) return Fail(std::move(way).error());
  name_ = kDockerNamePrefix + folder_;
  deps_.api.Create(name_, CreateBody(*std::move(way)),
                   [self = shared_from_this()](Result<void> created) {
                     if (self->closed_) return;
                     if (!created) return self->Fail(std::move(created).error());
                     self->deps_.departures.AfterThese([self] {
                       if (!self->closed_ && !self->ending_) self->Start();
                     });
                   });
}

DockerCreate DockerContainer::CreateBody(DeviceWay way) const {
  const std::string path = deps_.folders.PathOf(folder_);
  constexpr std::int64_t kNanoOfMilli = 1'000'000;
  DockerCreate create;
  create.image = image_.id;  // and not its name, which may have come to mean another one since
  create.entrypoint = {kInitInside};
  create.command = {"--socket", std::string(kRunInside) + "/" + kSocketName, "--scratch",
                    kScratchInside};
  create.labels = {{kDockerAgentLabel, deps_.agent_id},
                   {kDockerJobLabel, std::to_string(spec_.job.number)},
                   {kDockerSpecLabel, FormatSpecLabel(spec_)}};
  create.mounts = {{deps_.init_path, kInitInside, true},
                   {path + "/run", kRunInside, true},
                   {path + "/scratch", kScratchInside, false}};
  for (const Mount& mount : spec_.mounts) create.mounts.push_back(DockerMountOf(mount));
  create.work_folder = spec_.work_folder;
  if (spec_.secret_files) {
    create.command.insert(create.command.end(), {"--secrets", kSecretsInside});
    create.tmpfs = {{kSecretsInside, kSecretsOptions}};
  }
  create.devices = std::move(way.paths);
  create.device_requests = std::move(way.requests);
  create.runtime = std::move(way.runtime);
  create.env = std::move(way.env);
  std::string devices;
  for (const std::string& each : spec_.devices) devices += (devices.empty() ? "" : " ") + each;
  if (!devices.empty()) create.labels.emplace_back(kDockerDevicesLabel, devices);
  const std::string volumes = VolumesLabel(spec_.mounts);
  if (!volumes.empty()) create.labels.emplace_back(kDockerVolumesLabel, volumes);
  create.nano_cpus = spec_.limits.millicpus * kNanoOfMilli;
  create.memory_bytes = spec_.limits.memory_bytes;
  create.shm_bytes = spec_.shm_bytes;
  create.pids = kPidsMost;
  create.open_files = OpenFilesMost();
  create.network = spec_.policy.no_network ? "none" : kDockerNetwork;
  create.no_capabilities = spec_.policy.no_capabilities;
  create.read_only_root = spec_.policy.read_only_root;
  create.tmp_bytes = kTmpBytes;
  return create;
}

void DockerContainer::Start() {
  deps_.api.Start(name_, [self = shared_from_this()](Result<void> started) {
    if (self->closed_) return;
    if (!started) return self->Fail(std::move(started).error());
    self->Greet();
  });
}

// The socket stands where any process of the container can reach it, so only its first process,
// which the Engine names, is let in.
void DockerContainer::Greet() {
  timer_ = deps_.loop.After(kHelloWithin, [this] { OnBroken("no Hello from init in time"); });
  deps_.api.Inspect(name_, kInspectWithin, [self = shared_from_this()](auto state) {
    if (self->closed_ || self->ending_) return;
    if (state && state->running && state->pid > 0) {
      self->pid_ = state->pid;
      return self->Match();
    }
    std::string reason = "the container ended at once";
    if (state) reason += ", with exit code " + std::to_string(state->exit_code);
    if (state && !state->error.empty()) reason += ": " + state->error;
    if (!state && state.error().code != Code::kNotFound) reason = state.error().reason;
    self->Fail({Code::kUnavailable, std::move(reason)});
  });
}

void DockerContainer::OnPeer(UnixPeer peer) {
  if (peers_.size() < kPeersMost) peers_.push_back(std::move(peer));
  if (pid_ != 0) Match();
}

void DockerContainer::Match() {
  const auto init = std::find_if(peers_.begin(), peers_.end(),
                                 [this](const UnixPeer& peer) { return peer.pid == pid_; });
  if (init != peers_.end() && met_) {
    greeting_.emplace(std::move(init->socket));
    listener_.reset();
    Greeted();
  } else if (init != peers_.end()) {
    channel_.emplace(deps_.loop, std::move(init->socket), *this);
    listener_.reset();
  }
  peers_.clear();
}

void DockerContainer::Meet(const std::string& image, std::function<void()> on_gone,
                           std::function<void(bool)> met) {
  on_gone_ = std::move(on_gone);
  met_ = std::move(met);
  timer_ = deps_.loop.After(kReturnWithin, [this] { Meets(false); });
  deps_.api.FindImage(image, [self = shared_from_this()](Result<DockerImage> found) {
    if (self->closed_ || self->ending_) return;
    if (!found) return self->Meets(false);
    self->image_ = *std::move(found);
    const std::string socket = self->deps_.folders.PathOf(self->folder_) + "/run/" + kSocketName;
    unlink(socket.c_str());  // of who listened there before
    auto listener =
        UnixListener::Listen(self->deps_.loop, socket,
                             [raw = self.get()](UnixPeer peer) { raw->OnPeer(std::move(peer)); });
    if (!listener) return self->Meets(false);
    self->listener_ = *std::move(listener);
  });
}

// Looks again and again: the rest of it comes at once, or never.
void DockerContainer::Greeted() {
  switch (greeting_->Read()) {
    case Greeting::State::kWhole:
      return Meets(true);
    case Greeting::State::kBroken:
      return Meets(false);
    case Greeting::State::kMore:
      break;
  }
  greet_timer_ = deps_.loop.After(kGreetingPause, [this] { Greeted(); });
}

void DockerContainer::Meets(bool well) {
  if (!met_) return;
  const auto self = shared_from_this();
  deps_.loop.Cancel(timer_);
  deps_.loop.Cancel(greet_timer_);
  const auto met = std::exchange(met_, nullptr);
  if (!well) End();
  met(well);
}

std::unique_ptr<Container> DockerContainer::Adopt(ContainerEvents& events) {
  events_ = &events;
  memory_ = CgroupMemory::Of(static_cast<pid_t>(pid_), {});
  channel_.emplace(deps_.loop, greeting_->TakeSocket(), *this, greeting_->greeted(), spec_.loop);
  return std::make_unique<Handle>(shared_from_this());
}

void DockerContainer::OnHello() {
  deps_.loop.Cancel(timer_);
  memory_ = CgroupMemory::Of(static_cast<pid_t>(pid_), {});
  std::exchange(opened_, nullptr)(std::make_unique<Handle>(shared_from_this()));
}

void DockerContainer::Load(ItemRun program) {
  if (!channel_) return;
  program.env.push_back(std::string("TIDEMILL_SCRATCH=") + kScratchInside);
  channel_->Load(program, ComposeArgv(image_, program.entrypoint, program.command));
}

void DockerContainer::NoMore() {
  if (channel_) channel_->NoMore();
}

void DockerContainer::UseRole(std::string_view keys) {
  if (channel_) channel_->UseRole(keys);
}

void DockerContainer::Run(ItemRun run) {
  if (!channel_) return;
  if (spec_.loop) return channel_->Run(run, std::vector<std::string>{});
  run.env.push_back(std::string("TIDEMILL_SCRATCH=") + kScratchInside);
  channel_->Run(run, ComposeArgv(image_, run.entrypoint, run.command));
}

void DockerContainer::Stop(std::uint64_t number) {
  if (channel_) channel_->Stop(number);
}

void DockerContainer::OpenStream(const StreamStart& start) {
  if (channel_) channel_->OpenStream(start);
}

void DockerContainer::SendToStream(std::uint64_t number, std::string_view bytes) {
  if (channel_) channel_->SendToStream(number, bytes);
}

void DockerContainer::ResizeStream(std::uint64_t number, std::uint16_t rows,
                                   std::uint16_t columns) {
  if (channel_) channel_->ResizeStream(number, rows, columns);
}

void DockerContainer::HoldStream(std::uint64_t number, bool hold) {
  if (channel_) channel_->HoldStream(number, hold);
}

void DockerContainer::CloseStream(std::uint64_t number) {
  if (channel_) channel_->CloseStream(number);
}

ContainerUse DockerContainer::Use() {
  if (!channel_) return {};
  MeasureDisk();
  ContainerUse use = UseOf(static_cast<pid_t>(pid_));
  use.disk_bytes = disk_bytes_;
  return use;
}

// The scratch folder first, and then the container's own layer: the disk is read by one at a time.
void DockerContainer::MeasureDisk() {
  if (measuring_disk_ || deps_.loop.Now() - disk_asked_ < kDiskEvery) return;
  measuring_disk_ = true;
  disk_asked_ = deps_.loop.Now();
  deps_.folders.MeasureScratch(folder_, [self = shared_from_this()](std::int64_t scratch) {
    if (self->closed_ || self->ending_) return;
    self->deps_.api.Measure(self->name_, [self, scratch](Result<DockerState> state) {
      self->measuring_disk_ = false;
      self->disk_bytes_ = scratch + (state ? state->written_bytes : 0);
    });
  });
}

void DockerContainer::OnLog(std::uint64_t number, std::string_view bytes) {
  if (events_ != nullptr) events_->OnLog(number, bytes);
}

void DockerContainer::OnProgress(std::uint64_t number, std::int32_t permille,
                                 std::string_view note) {
  if (events_ != nullptr) events_->OnProgress(number, permille, note);
}

// The items of a loop come by the ten thousand, and have one peak: it is looked at now and then.
std::int64_t DockerContainer::TakePeak() {
  if (!spec_.loop) return memory_->TakePeak().value_or(0);
  if (deps_.loop.Now() - loop_peak_at_ >= kLoopPeakEvery) {
    loop_peak_at_ = deps_.loop.Now();
    loop_peak_bytes_ = memory_->TakePeak().value_or(0);
  }
  return loop_peak_bytes_;
}

void DockerContainer::OnEnd(const ItemEnd& end) {
  ItemEnd measured = end;
  if (memory_) {
    const std::int64_t peak = TakePeak();
    if (end.start_ms != 0) measured.memory_bytes = std::max(peak, end.memory_bytes);
  }
  if (events_ != nullptr) events_->OnEnd(measured);
}

void DockerContainer::OnStreamBytes(std::uint64_t number, bool is_error, std::string_view bytes) {
  if (events_ != nullptr) events_->OnStreamBytes(number, is_error, bytes);
}

void DockerContainer::OnStreamFull(std::uint64_t number, bool full) {
  if (events_ != nullptr) events_->OnStreamFull(number, full);
}

void DockerContainer::OnStreamEnd(std::uint64_t number, const StreamEnd& end) {
  if (events_ != nullptr) events_->OnStreamEnd(number, end);
}

void DockerContainer::OnBroken(const std::string& reason) {
  if (ending_) return;
  ending_ = true;
  deps_.departures.Begin(this);
  channel_.reset();
  listener_.reset();
  deps_.loop.Cancel(timer_);
  Explain(reason, [self = shared_from_this()](std::string why) {
    if (self->closed_) return;
    self->Remove();
    if (self->opened_) {
      std::exchange(self->opened_, nullptr)(tidemill::Fail(Code::kUnavailable, std::move(why)));
    } else if (self->events_ != nullptr) {
      std::exchange(self->events_, nullptr)->OnGone(why);
    }
  });
}

void DockerContainer::Explain(const std::string& reason, std::function<void(std::string)> then) {
  deps_.api.Inspect(name_, kExplainWithin, [reason, then = std::move(then)](auto state) {
    std::string why = reason;
    if (state && !state->running) {
      why += " (exit code " + std::to_string(state->exit_code);
      why += state->out_of_memory ? ", out of memory)" : ")";
    }
    then(std::move(why));
  });
}

void DockerContainer::Fail(Error error) {
  End();
  if (opened_) std::exchange(opened_, nullptr)(tl::unexpected(std::move(error)));
}

void DockerContainer::Leave() {
  events_ = nullptr;
  End();
}

void DockerContainer::End() {
  if (ending_ || closed_) return;
  ending_ = true;
  deps_.departures.Begin(this);
  channel_.reset();
  listener_.reset();
  peers_.clear();
  deps_.loop.Cancel(timer_);
  Remove();
}

void DockerContainer::Remove() {
  const auto self = shared_from_this();
  const auto forget = [self] {
    if (!self->closed_) self->on_gone_();
  };
  if (name_.empty()) deps_.departures.End(this);
  if (folder_.empty()) {
    timer_ = deps_.loop.After(Duration::zero(), forget);
    return;
  }
  if (name_.empty()) return deps_.folders.Remove(folder_, forget);
  deps_.api.Remove(name_, [self, forget](Result<void> removed) {
    if (self->closed_) return;
    if (removed) {
      self->deps_.departures.End(self.get());
      return self->deps_.folders.Remove(self->folder_, forget);
    }
    self->pause_ = std::clamp<Duration>(2 * self->pause_, kFirstPause, kLastPause);
    self->timer_ = self->deps_.loop.After(self->pause_, [self] { self->Remove(); });
  });
}

void DockerContainer::Close() {
  closed_ = true;
  events_ = nullptr;
  opened_ = nullptr;
  met_ = nullptr;
  deps_.loop.Cancel(timer_);
  deps_.loop.Cancel(greet_timer_);
  if (channel_) channel_->Quit();
  channel_.reset();
  listener_.reset();
  peers_.clear();
}

}  // namespace tidemill
