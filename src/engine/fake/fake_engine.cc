// SPDX-License-Identifier: Apache-2.0
#include "engine/fake/fake_engine.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tidemill {

// Shared with what is under way on the loop, which may come after the engine is gone.
struct FakeEngine::State {
  Loop& loop;
  Play play;
  bool alive = true;
  std::size_t opening = 0;
  std::set<FakeContainer*> containers = {};
};

class FakeEngine::FakeContainer : public Container {
 public:
  FakeContainer(std::shared_ptr<State> state, ContainerEvents& events, const ContainerSpec& spec)
      : state_(std::move(state)),
        events_(events),
        secret_files_(spec.secret_files),
        is_loop_(spec.loop),
        memory_bytes_(spec.limits.memory_bytes) {
    state_->containers.insert(this);
  }
  ~FakeContainer() override { state_->containers.erase(this); }

  void Run(ItemRun run) override {
    const bool is_idle = runs_.empty();
    runs_.push_back({std::move(run)});
    if (is_idle) BeginNext();
  }

  void UseRole(std::string_view keys) override {
    if (state_->play.on_role) state_->play.on_role(keys);
  }

  void NoMore() override {
    no_more_ = true;
    EndIfOver();
  }

  void Stop(std::uint64_t number) override {
    if (hangs_) return;
    for (Waiting& waiting : runs_) {
      if (waiting.run.number != number || waiting.stopped) continue;
      waiting.stopped = true;
      if (&waiting == &runs_.front()) {
        Later(state_->play.stopping,
              [this, number] { EndFirst(number, ItemEnd::How::kStopped, 143); });
      }
    }
  }

  // One processor and a MiB while something runs.
  ContainerUse Use() const override {
    const TimePoint now = state_->loop.Now();
    return {.cpu = now.time_since_epoch(), .memory_bytes = runs_.empty() ? 0 : 1 << 20};
  }

  // Of a loop all that it has run at once.
  void OpenStream(StreamStart start) override {
    Stream& stream = streams_[start.number];
    if (runs_.empty()) {
      stream.end = StreamEnd{.error = ESRCH};
    } else {
      stream.beside = (is_loop_ ? runs_.back() : runs_.front()).run.number;
    }
    const bool exits = start.command.size() == 2 && start.command[0] == "exit";
    if (exits) stream.exit = std::atoi(start.command[1].c_str());
    TurnSoon(start.number);
  }

  void SendToStream(std::uint64_t number, std::string_view bytes) override {
    const auto found = streams_.find(number);
    if (found == streams_.end() || found->second.end) return;
    found->second.echo += bytes;
    if (bytes.empty()) found->second.end = StreamEnd{.exit = found->second.exit};
    TurnSoon(number);
  }

  void ResizeStream(std::uint64_t, std::uint16_t, std::uint16_t) override {}

  void HoldStream(std::uint64_t number, bool hold) override {
    const auto found = streams_.find(number);
    if (found == streams_.end()) return;
    found->second.held = hold;
    TurnSoon(number);
  }

  void CloseStream(std::uint64_t number) override {
    const auto found = streams_.find(number);
    if (found == streams_.end()) return;
    if (!found->second.end) found->second.end = StreamEnd{.exit = 129};
    found->second.echo.clear();
    found->second.held = false;
    TurnSoon(number);
  }

  bool usable() const override { return usable_; }

  void Lose(const std::string& reason) {
    usable_ = false;
    Later(state_->play.explaining, [this, reason] { events_.OnGone(reason); });
  }

 private:
  struct Waiting {
    ItemRun run;
    bool stopped = false;
    TimePoint began{};
  };
  // Echoes what it is sent.
  struct Stream {
    std::uint64_t beside = 0;  // the run with which it ends
    std::int32_t exit = 0;     // at the end of its input
    std::string echo = {};     // not told yet
    std::optional<StreamEnd> end = {};
    bool held = false;
  };

  void TurnSoon(std::uint64_t number) {
    Later(Duration::zero(), [this, number] { Turn(number); });
  }

  // Tells what there is to tell of a stream. False: the container is gone.
  bool Turn(std::uint64_t number) {
    const std::weak_ptr<char> alive = alive_;
    auto found = streams_.find(number);
    if (found == streams_.end() || found->second.held) return true;
    const std::string echo = std::exchange(found->second.echo, {});
    if (!echo.empty()) events_.OnStreamBytes(number, false, echo);
    if (alive.expired()) return false;
    found = streams_.find(number);
    if (found == streams_.end() || !found->second.end || !found->second.echo.empty()) return true;
    const StreamEnd end = *found->second.end;
    streams_.erase(found);
    events_.OnStreamEnd(number, end);
    return !alive.expired();
  }

  // False: the container is gone.
  bool EndStreamsBeside(std::uint64_t run) {
    std::vector<std::uint64_t> ended;
    for (auto& [number, stream] : streams_) {
      if (stream.beside != run) continue;
      if (!stream.end) stream.end = StreamEnd{.with_item = true};
      stream.held = false;
      ended.push_back(number);
    }
    return std::all_of(ended.begin(), ended.end(), [this](auto each) { return Turn(each); });
  }

  // Comes only while this container lives.
  void Later(Duration delay, std::function<void()> call) {
    state_->loop.After(delay, [alive = std::weak_ptr<char>(alive_), call = std::move(call)] {
      if (!alive.expired()) call();
    });
  }

  void EndIfOver() {
    if (!no_more_ || !runs_.empty()) return;
    usable_ = false;
    Later(Duration::zero(), [this] { events_.OnGone("there is no more to run"); });
  }

  void BeginNext() {
    if (runs_.empty()) return;
    Waiting& first = runs_.front();
    const std::uint64_t number = first.run.number;
    if (first.stopped) {
      return Later(Duration::zero(),
                   [this, number] { EndFirst(number, ItemEnd::How::kStopped, 0); });
    }
    if (!first.run.secret_files.empty() && !secret_files_) {
      return Later(Duration::zero(),
                   [this, number] { EndFirst(number, ItemEnd::How::kNotStarted, 126); });
    }
    first.began = state_->loop.Now();
    const FakeRun play = state_->play.run(first.run);
    if (play.hangs) {
      hangs_ = true;
      return;
    }
    const Duration timeout = first.run.timeout;
    const bool is_late = timeout > Duration::zero() && play.takes > timeout;
    Later(is_late ? timeout : play.takes, [this, number, play, is_late] {
      if (runs_.empty() || runs_.front().run.number != number) return;  // it was stopped
      if (!play.log.empty()) events_.OnLog(number, play.log);
      if (play.ends_container) return events_.OnGone("the play says so");
      if (is_late) return EndFirst(number, ItemEnd::How::kTimedOut, 143);
      const bool runs_out = memory_bytes_ > 0 && play.memory_bytes > memory_bytes_;
      if (runs_out) return EndFirst(number, ItemEnd::How::kOutOfMemory, 137);
      EndFirst(number, ItemEnd::How::kExited, play.exit, play.result);
    });
  }

  void EndFirst(std::uint64_t number, ItemEnd::How how, std::int32_t exit,
                const std::string& result = {}) {
    if (runs_.empty() || runs_.front().run.number != number) return;
    const TimePoint began = runs_.front().began;
    const bool ran = began != TimePoint{};
    runs_.pop_front();
    ItemEnd end{.number = number, .how = how, .exit = exit};
    if (ran) {
      end.start_ms = 1 + began.time_since_epoch().count() / 1000;
      end.duration = end.cpu = std::max(state_->loop.Now() - began, Duration(1));
      end.memory_bytes = 1 << 20;
      end.result = result;
    }
    // Last: they may destroy this container.
    BeginNext();
    EndIfOver();
    if (EndStreamsBeside(number)) events_.OnEnd(end);
  }

  const std::shared_ptr<State> state_;
  ContainerEvents& events_;
  const bool secret_files_;
  const bool is_loop_;
  const std::int64_t memory_bytes_;  // 0: as much as it likes
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::deque<Waiting> runs_;
  std::map<std::uint64_t, Stream> streams_;
  bool usable_ = true;
  bool no_more_ = false;
  bool hangs_ = false;
};

FakeEngine::FakeEngine(Loop& loop, Play play)
    : state_(std::make_shared<State>(State{loop, std::move(play)})) {}

FakeEngine::~FakeEngine() { state_->alive = false; }

FoundContainer FakeEngine::Found(const std::shared_ptr<State>& state, FakeFound found) {
  FoundContainer out;
  out.spec = found.spec;
  for (const ItemRun& run : found.runs) out.runs.push_back({run.number, run.tag});
  out.adopt = [state, found = std::move(found)](ContainerEvents& events) {
    auto container = std::make_unique<FakeContainer>(state, events, found.spec);
    for (const ItemRun& run : found.runs) container->Run(run);
    return container;
  };
  return out;
}

void FakeEngine::Recover(Done<EngineInfo> done) {
  state_->loop.After(Duration::zero(), [state = state_, done = std::move(done)] {
    if (!state->alive) return;
    const Result<void> answer = state->play.recover();
    if (answer) {
      EngineInfo info{"fake", true};
      for (FakeFound& found : std::exchange(state->play.found, {})) {
        info.found.push_back(Found(state, std::move(found)));
      }
      done(std::move(info));
    } else {
      done(tl::unexpected(answer.error()));
    }
  });
}

void FakeEngine::Open(const ContainerSpec& spec, ContainerEvents& events,
                      Done<std::unique_ptr<Container>> done) {
  ++state_->opening;
  state_->loop.After(state_->play.opening, [state = state_, spec, &events, done = std::move(done)] {
    --state->opening;
    if (!state->alive) return;
    const Result<void> answer = state->play.open(spec);
    if (answer) {
      done(std::make_unique<FakeContainer>(state, events, spec));
    } else {
      done(tl::unexpected(answer.error()));
    }
  });
}

std::size_t FakeEngine::containers() const { return state_->opening + state_->containers.size(); }

void FakeEngine::Fetch(const ContainerSpec& spec, Done<std::string> done) {
  done(state_->play.digest(spec.image));
}

std::string FakeEngine::DeviceTrouble(const std::string& device) const {
  return state_->play.device_trouble(device);
}

bool FakeEngine::mounts() const { return state_->play.mounts; }

std::string FakeEngine::PullState(const std::string& image) const {
  return state_->play.pull_state(image);
}

std::string FakeEngine::open_network() const { return state_->play.open_network(); }

void FakeEngine::LoseAll(const std::string& reason) {
  for (FakeContainer* container : state_->containers) container->Lose(reason);
}

}  // namespace tidemill
