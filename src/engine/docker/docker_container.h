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
#include "engine/docker/cgroup_memory.h"
#include "engine/docker/docker_api.h"
#include "engine/docker/docker_images.h"
#include "engine/engine.h"
#include "net/asio_loop.h"
#include "net/unix_listener.h"

namespace tidemill {

inline constexpr char kDockerAgentLabel[] = "tidemill.agent";
inline constexpr char kDockerJobLabel[] = "tidemill.job";

// What a container needs of its engine, which outlives it or closes it.
struct DockerDeps {
  AsioLoop& loop;
  DockerApi& api;
  DockerImages& images;
  ContainerFolders& folders;
  const std::string& init_path;
  const std::string& agent_id;
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

  // `on_gone` is called when nothing is left.
  void Open(std::function<void()> on_gone);
  void Run(ItemRun run);
  void Stop(std::uint64_t number);
  ContainerUse Use() const;
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
  void OnEnd(const ItemEnd& end) override;
  void OnBroken(const std::string& reason) override;

 private:
  void Join();
  void Create();
  DockerCreate CreateBody() const;
  void Start();
  void Greet();
  void OnPeer(UnixPeer peer);
  void Match();
  void Fail(Error error);
  // Asks the Engine how it ended, and adds that to the reason.
  void Explain(const std::string& reason, std::function<void(std::string)> then);
  void End();
  void Remove();

  // Constant after construction.
  const DockerDeps deps_;
  const ContainerSpec spec_;
  // Loop thread only.
  ContainerEvents* events_;  // null: nobody listens any more
  Opened opened_;            // null once it has been called
  std::function<void()> on_gone_;
  DockerImage image_;
  std::string folder_;  // empty: not made yet
  std::string name_;
  std::unique_ptr<UnixListener> listener_;
  std::vector<UnixPeer> peers_;  // who connected before we knew whom to expect
  std::int64_t pid_ = 0;         // of init
  std::optional<Channel> channel_;
  std::optional<CgroupMemory> memory_;
  TimerId timer_ = TimerId::kNone;
  Duration pause_{};  // before the next try to remove it
  bool ending_ = false;
  bool closed_ = false;
};

}  // namespace tidemill
