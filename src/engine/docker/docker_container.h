// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/channel/channel.h"
#include "engine/channel/folders.h"
#include "engine/channel/greeting.h"
#include "engine/docker/cgroup_memory.h"
#include "engine/docker/departures.h"
#include "engine/docker/device_way.h"
#include "engine/docker/docker_api.h"
#include "engine/docker/docker_images.h"
#include "engine/engine.h"
#include "net/asio_loop.h"
#include "net/unix_listener.h"

namespace tidemill {

inline constexpr char kDockerAgentLabel[] = "tidemill.agent";
inline constexpr char kDockerJobLabel[] = "tidemill.job";
// The name of a container is this and the name of its folder.
inline constexpr char kDockerNamePrefix[] = "tidemill-";
inline constexpr char kDockerDevicesLabel[] = "tidemill.devices";
inline constexpr char kDockerVolumesLabel[] = "tidemill.volumes";

// What a container needs of its engine, which outlives it or closes it.
struct DockerDeps {
  AsioLoop& loop;
  DockerApi& api;
  DockerImages& images;
  ContainerFolders& folders;
  Departures& departures;
  const std::string& init_path;
  const std::string& agent_id;
  const DeviceAbilities& abilities;
};

// One container of the Engine, from the wish for it until nothing of it is left.
//
//   image ─▶ join ─▶ create ─▶ start ─▶ greet ──Hello──▶ open ──destroyed, broken─▶ ending ─▶ gone
//     └───────┴────────┴─────────┴────────┴─────failed──────────────────────────────▲
//
// Loop thread only. Held by its engine until it is gone, by the calls of it under way, and by the
// Container of its owner.
class DockerContainer : public ChannelEvents, public std::enable_shared_from_this<DockerContainer> {
 public:
  using Opened = Engine::Done<std::unique_ptr<Container>>;

  DockerContainer(const DockerDeps& deps, ContainerSpec spec, ContainerEvents& events,
                  Opened opened);
  ~DockerContainer() override;

  // One that an earlier life of this agent has opened, and that still runs: nobody listens to it,
  // and its folder is ours.
  DockerContainer(const DockerDeps& deps, ContainerSpec spec, std::string folder, std::int64_t pid);

  // `on_gone` is called when nothing is left.
  void Open(std::function<void()> on_gone);
  // Of a container that was found: waits for its init, but not for long. `met` is told whether it
  // came; if not, the container ends.
  void Meet(const std::string& image, std::function<void()> on_gone, std::function<void(bool)> met);
  // After that.
  const ContainerSpec& spec() const { return spec_; }
  const std::vector<FoundContainer::Run>& found() const { return greeting_->greeted().runs; }
  std::unique_ptr<Container> Adopt(ContainerEvents& events);
  void Load(ItemRun program);
  void NoMore();
  void UseRole(std::string_view keys);
  void Run(ItemRun run);
  void Stop(std::uint64_t number);
  ContainerUse Use();
  void OpenStream(const StreamStart& start);
  void SendToStream(std::uint64_t number, std::string_view bytes);
  void ResizeStream(std::uint64_t number, std::uint16_t rows, std::uint16_t columns);
  void HoldStream(std::uint64_t number, bool hold);
  void CloseStream(std::uint64_t number);
  bool usable() const { return channel_.has_value(); }
  // Its owner wants no more of it.
  void Leave();
  // Its engine goes: says and does nothing more. Init ends without its stream, and its container
  // with it.
  void Close();
  // Empty until it is about to be created.
  const std::string& name() const { return name_; }

  void OnHello() override;
  void OnLog(std::uint64_t number, std::string_view bytes) override;
  void OnProgress(std::uint64_t number, std::int32_t permille, std::string_view note) override;
  void OnEnd(const ItemEnd& end) override;
  void OnStreamBytes(std::uint64_t number, bool is_error, std::string_view bytes) override;
  void OnStreamFull(std::uint64_t number, bool full) override;
  void OnStreamEnd(std::uint64_t number, const StreamEnd& end) override;
  void OnBroken(const std::string& reason) override;

 private:
  void Join();
  void Create();
  DockerCreate CreateBody(DeviceWay way) const;
  void Start();
  void Greet();
  void OnPeer(UnixPeer peer);
  void Match();
  void Greeted();
  void Meets(bool well);
  void Fail(Error error);
  void MeasureDisk();
  std::int64_t TakePeak();
  // Asks the Engine how it ended, and adds that to the reason.
  void Explain(const std::string& reason, std::function<void(std::string)> then);
  void End();
  void Remove();

  // Constant after construction.
  const DockerDeps deps_;
  ContainerSpec spec_;  // but for its login, which goes with Open
  // Loop thread only.
  ContainerEvents* events_;  // null: nobody listens any more
  Opened opened_;            // null once it has been called
  std::function<void()> on_gone_;
  DockerImage image_;
  std::string folder_;  // empty: not made yet
  std::string name_;
  std::unique_ptr<UnixListener> listener_;
  std::vector<UnixPeer> peers_;       // who connected before we knew whom to expect
  std::int64_t pid_ = 0;              // of init
  std::function<void(bool)> met_;     // null once it has been called
  std::optional<Greeting> greeting_;  // of one that was found
  std::optional<Channel> channel_;
  std::optional<CgroupMemory> memory_;
  std::int64_t loop_peak_bytes_ = 0;  // of a loop, whose items share it
  TimePoint loop_peak_at_{};
  TimePoint disk_asked_{};  // when somebody last wanted to know
  std::int64_t disk_bytes_ = 0;
  bool measuring_disk_ = false;
  TimerId timer_ = TimerId::kNone;
  TimerId greet_timer_ = TimerId::kNone;
  Duration pause_{};  // before the next try to remove it
  bool ending_ = false;
  bool closed_ = false;
};

}  // namespace tidemill
