// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/docker_engine.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/channel/folders.h"
#include "engine/docker/device_way.h"
#include "engine/docker/docker_api.h"
#include "engine/docker/docker_container.h"
#include "engine/docker/docker_images.h"
#include "engine/docker/docker_network.h"
#include "engine/docker/firewall.h"
#include "engine/docker/image_words.h"
#include "engine/docker/spec_label.h"

namespace tidemill {
namespace {

constexpr std::chrono::seconds kSweepEvery{30};
// A container takes the Engine some seconds to kill; an Engine that needs longer for what a crash
// has left is not well.
constexpr int kSweepRounds = 50;
constexpr std::chrono::milliseconds kSweepPause{200};
constexpr std::chrono::seconds kImageInspectWithin{30};

// Ends a container that was found and that nobody has adopted.
struct Unclaimed {
  std::shared_ptr<DockerContainer> container;
  ~Unclaimed() {
    if (container) container->Leave();
  }
};

// Where the Engine finds it when it is asked for NVIDIA's devices.
bool HasNvidiaHook() {
  return access("/usr/bin/nvidia-container-runtime-hook", X_OK) == 0 ||
         access("/usr/local/bin/nvidia-container-runtime-hook", X_OK) == 0;
}

FoundContainer FoundOf(const std::shared_ptr<DockerContainer>& container) {
  const auto unclaimed = std::make_shared<Unclaimed>(container);
  return {.spec = container->spec(),
          .runs = container->found(),
          .adopt = [unclaimed](ContainerEvents& events) {
            return std::exchange(unclaimed->container, nullptr)->Adopt(events);
          }};
}

}  // namespace

// Removes containers and folders that bear our name and are not ours: those of an earlier life, and
// those that a restarted Engine brought back.
class DockerEngine::Sweeper : public std::enable_shared_from_this<DockerEngine::Sweeper> {
 public:
  using Done = std::function<void(Result<void>)>;
  Sweeper(State& state, Done done) : state_(state), done_(std::move(done)) {}

  void Look();

 private:
  void OnListed(const std::vector<std::string>& strays);

  State& state_;
  const Done done_;
  int rounds_ = 0;
  std::size_t removing_ = 0;
  std::string why_;  // the last one could not be removed
};

// Finds the containers of an earlier life that still run, and whose init comes back to us.
class DockerEngine::Finder : public std::enable_shared_from_this<DockerEngine::Finder> {
 public:
  using Done = std::function<void(std::vector<FoundContainer>)>;
  Finder(State& state, Done done) : state_(state), done_(std::move(done)) {}

  void Look();

 private:
  void LookAt(const std::string& name);
  void Meet(const std::string& folder, const DockerState& docker);
  void OneLess();

  State& state_;
  const Done done_;
  std::size_t left_ = 1;  // to be looked at; and one for the list itself
  std::vector<FoundContainer> found_;
};

struct DockerEngine::State {
  State(AsioLoop& a_loop, DockerEngineOptions some_options)
      : loop(a_loop),
        options(std::move(some_options)),
        folders(loop, options.state_folder),
        departures(loop),
        api(loop, options.socket_path),
        images(loop, api, options.registry_role),
        firewall(loop, {kDockerBridge, options.socket_path, options.nft}) {
    abilities.folders = options.cdi_folders;
  }

  bool IsOurs(const std::string& name) const {
    return std::any_of(containers.begin(), containers.end(),
                       [&name](const auto& each) { return each->name() == name; });
  }

  void Find(Finder::Done done) { std::make_shared<Finder>(*this, std::move(done))->Look(); }
  void Forget(const DockerContainer* container) {
    std::erase_if(containers, [container](const auto& each) { return each.get() == container; });
  }
  DockerDeps Deps() {
    return {loop, api, images, folders, departures, options.init_path, options.agent_id, abilities};
  }

  void Sweep(Sweeper::Done done) { std::make_shared<Sweeper>(*this, std::move(done))->Look(); }

  void SweepLater() {
    loop.Cancel(sweep_timer);
    sweep_timer = loop.After(kSweepEvery, [this] {
      // What went wrong now may go right the next time; Recover is what tells somebody.
      Sweep([this](Result<void>) { SweepLater(); });
    });
  }

  // The network, then the rules before it. What fails is told by `open`, and by the next Open.
  void Shut(const std::function<void()>& done) {
    EnsureNetwork(api, [this, done](const Result<void>& ensured) {
      network_trouble = ensured ? "" : ensured.error().reason;
      firewall.Apply(done);
    });
  }

  // An Engine that is restarted may have other abilities.
  void ShutLater() {
    loop.Cancel(shut_timer);
    shut_timer = loop.After(options.shut_every, [this] {
      api.Info([this](const Result<DockerInfo>& info) {
        if (info) abilities.info = *info;
        Shut([this] { ShutLater(); });
      });
    });
  }

  // Why the network of containers is not known to be shut; empty: it is.
  std::string open() const { return network_trouble.empty() ? firewall.open() : network_trouble; }

  // Why this machine may not run such containers; empty: it may. The next Recover looks again, so
  // whoever mends it need not restart anything of ours.
  std::string Refuses(const ContainerSpec& spec) const {
    const auto way = WayOf(spec.devices, abilities);
    return way ? Refuses(spec.policy) : way.error().reason;
  }
  std::string Refuses(const ContainerPolicy& policy) const {
    if (policy.user_namespace && !abilities.info.remaps_users) {
      return "the pool wants containers whose root is nobody on the machine, and this Docker "
             "Engine does not remap users: put \"userns-remap\": \"default\" into "
             "/etc/docker/daemon.json and restart it";
    }
    if (policy.firewall && !policy.no_network && !open().empty()) {
      return "the pool wants machines that shut their metadata and ports to containers: " + open();
    }
    return "";
  }

  AsioLoop& loop;
  const DockerEngineOptions options;
  ContainerFolders folders;
  Departures departures;
  // What a call under way holds of the containers is dropped with `api`, after the set of them.
  DockerApi api;
  DockerImages images;
  Firewall firewall;
  DeviceAbilities abilities;
  std::string network_trouble = "nobody has looked yet";
  std::set<std::shared_ptr<DockerContainer>> containers;
  TimerId sweep_timer = TimerId::kNone;
  TimerId shut_timer = TimerId::kNone;
  // Tells a sweep under way whether this is still there.
  const std::shared_ptr<char> alive = std::make_shared<char>();
};

void DockerEngine::Sweeper::Look() {
  state_.api.List(kDockerAgentLabel, state_.options.agent_id,
                  [self = shared_from_this()](Result<std::vector<std::string>> names) {
                    if (!names) return self->done_(tl::unexpected(names.error()));
                    std::erase_if(*names,
                                  [&](const auto& name) { return self->state_.IsOurs(name); });
                    self->OnListed(*names);
                  });
}

void DockerEngine::Sweeper::OnListed(const std::vector<std::string>& strays) {
  const auto self = shared_from_this();
  if (strays.empty()) {
    // Nothing waits for it: a folder with very many files would keep the machine from working.
    state_.folders.RemoveStale([] {});
    return done_({});
  }
  if (rounds_++ == kSweepRounds) {
    // An Engine that was killed may list for ever what it says is not there.
    if (why_.empty()) return done_({});
    return done_(Fail(Code::kUnavailable, std::to_string(strays.size()) +
                                              " containers of an earlier life cannot be "
                                              "removed: " +
                                              why_));
  }
  removing_ = strays.size();
  why_.clear();
  for (const std::string& name : strays) {
    state_.api.Remove(name, [self](Result<void> removed) {
      if (!removed) self->why_ = removed.error().reason;
      if (--self->removing_ > 0) return;
      self->state_.loop.After(kSweepPause, [self, alive = std::weak_ptr<char>(self->state_.alive)] {
        if (!alive.expired()) self->Look();
      });
    });
  }
}

void DockerEngine::Finder::Look() {
  state_.api.List(kDockerAgentLabel, state_.options.agent_id,
                  [self = shared_from_this()](const Result<std::vector<std::string>>& names) {
                    for (const std::string& name : names.value_or(std::vector<std::string>{})) {
                      if (!self->state_.IsOurs(name)) self->LookAt(name);
                    }
                    self->OneLess();
                  });
}

// What is not as it must be is left to the sweep.
void DockerEngine::Finder::LookAt(const std::string& name) {
  constexpr std::string_view kPrefix = kDockerNamePrefix;
  if (!name.starts_with(kPrefix)) return;
  const std::string folder = name.substr(kPrefix.size());
  if (folder.find('/') != folder.npos) return;
  ++left_;
  state_.api.Inspect(name, kImageInspectWithin,
                     [self = shared_from_this(), folder](const Result<DockerState>& docker) {
                       if (docker && docker->running) self->Meet(folder, *docker);
                       self->OneLess();
                     });
}

void DockerEngine::Finder::Meet(const std::string& folder, const DockerState& docker) {
  const auto spec = ParseSpecLabel(docker.spec);
  if (!spec || docker.pid <= 0 || !state_.folders.Hold(folder)) return;
  const auto container =
      std::make_shared<DockerContainer>(state_.Deps(), *spec, folder, docker.pid);
  state_.containers.insert(container);
  ++left_;
  container->Meet(
      docker.image, [state = &state_, key = container.get()] { state->Forget(key); },
      [self = shared_from_this(), container](bool well) {
        if (well) self->found_.push_back(FoundOf(container));
        self->OneLess();
      });
}

void DockerEngine::Finder::OneLess() {
  if (--left_ == 0) done_(std::move(found_));
}

DockerEngine::DockerEngine(AsioLoop& loop, DockerEngineOptions options)
    : state_(std::make_unique<State>(loop, std::move(options))) {}

DockerEngine::~DockerEngine() {
  state_->loop.Cancel(state_->sweep_timer);
  state_->loop.Cancel(state_->shut_timer);
  for (const auto& container : state_->containers) container->Close();
}

// Version, abilities, network, rules, and last what an earlier life has left.
void DockerEngine::Recover(Done<EngineInfo> done) {
  State* const state = state_.get();
  state->api.Connect([state, done = std::move(done)](Result<DockerVersion> version) {
    if (!version) return done(tl::unexpected(version.error()));
    EngineInfo info{.name = "docker " + version->version, .enforces = true};
    if (!version->runc.empty()) info.runtime = "runc " + version->runc;
    state->api.Info([state, done, info](const Result<DockerInfo>& docker) {
      if (!docker) return done(tl::unexpected(docker.error()));
      state->abilities.engine = info.name;
      state->abilities.info = *docker;
      state->abilities.nvidia_hook = HasNvidiaHook();
      state->Shut([state, done, info] {
        state->ShutLater();
        state->Find([state, done, info](std::vector<FoundContainer> found) {
          state->Sweep([state, done, info, found](Result<void> swept) {
            state->SweepLater();
            if (!swept) return done(tl::unexpected(swept.error()));
            EngineInfo all = info;
            all.found = found;
            done(std::move(all));
          });
        });
      });
    });
  });
}

void DockerEngine::Fetch(const ContainerSpec& spec, Done<std::string> done) {
  state_->images.Get({spec.image, spec.job, spec.login},
                     [image = spec.image, done = std::move(done)](const Result<DockerImage>& got) {
                       if (!got) return done(tl::unexpected(got.error()));
                       const auto name = ParseImageName(image);
                       done(name ? DigestOf(*name, *got) : std::string());
                     });
}

void DockerEngine::Open(const ContainerSpec& spec, ContainerEvents& events,
                        Done<std::unique_ptr<Container>> done) {
  State* const state = state_.get();
  if (const std::string why = state->Refuses(spec); !why.empty()) {
    state->loop.After(Duration::zero(),
                      [done = std::move(done), why, alive = std::weak_ptr<char>(state->alive)] {
                        if (!alive.expired()) done(Fail(Code::kUnavailable, why));
                      });
    return;
  }
  const auto container =
      std::make_shared<DockerContainer>(state->Deps(), spec, events, std::move(done));
  state->containers.insert(container);
  container->Open([state, key = container.get()] { state->Forget(key); });
}

std::string DockerEngine::PullState(const std::string& image) const {
  return state_->images.PullState(image);
}

std::string DockerEngine::DeviceTrouble(const std::string& device) const {
  if (state_->abilities.engine.empty()) return "";  // nobody has asked it yet
  const auto way = WayOf({device}, state_->abilities);
  return way ? "" : way.error().reason;
}

std::size_t DockerEngine::containers() const { return state_->containers.size(); }

std::string DockerEngine::open_network() const { return state_->open(); }

}  // namespace tidemill
