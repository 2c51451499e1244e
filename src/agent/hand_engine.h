// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of the agent: containers that do what the test says, when it says so.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/loop.h"
#include "engine/engine.h"

namespace tidemill {

class HandEngine : public Engine {
 public:
  struct Stream {
    StreamStart start;               // with the size that it has now
    std::vector<std::string> input;  // each as it was sent
    std::vector<bool> holds;         // as they were told
    bool closed = false;
  };

  struct Made : Container {
    Made(HandEngine& a_engine, ContainerSpec a_spec, ContainerEvents& a_events)
        : engine(a_engine), spec(std::move(a_spec)), events(a_events) {
      engine.made.push_back(this);
    }
    ~Made() override { std::erase(engine.made, this); }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;

    void Load(ItemRun run) override {
      EXPECT_TRUE(runs.empty());
      program = std::move(run);
    }
    void Run(ItemRun run) override { runs.push_back(std::move(run)); }
    void Stop(std::uint64_t number) override { stopped.push_back(number); }
    void NoMore() override { no_more = true; }
    void UseRole(std::string_view keys) override {
      if (roles.empty()) runs_before_role = runs.size();
      roles.emplace_back(keys);
    }
    ContainerUse Use() const override { return use; }
    void OpenStream(StreamStart start) override {
      EXPECT_FALSE(streams.contains(start.number));
      streams[start.number].start = std::move(start);
    }
    void SendToStream(std::uint64_t number, std::string_view bytes) override {
      streams.at(number).input.emplace_back(bytes);
    }
    void ResizeStream(std::uint64_t number, std::uint16_t rows, std::uint16_t columns) override {
      streams.at(number).start.rows = rows;
      streams.at(number).start.columns = columns;
    }
    void HoldStream(std::uint64_t number, bool hold) override {
      streams.at(number).holds.push_back(hold);
    }
    void CloseStream(std::uint64_t number) override { streams.at(number).closed = true; }
    bool usable() const override { return true; }

    // May destroy it.
    void End(std::size_t which, ItemEnd::How how = ItemEnd::How::kExited, int exit = 0) {
      const std::uint64_t number = runs.at(which).number;
      runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(which));
      events.OnEnd({.number = number,
                    .how = how,
                    .exit = exit,
                    .start_ms = 1,
                    .duration = std::chrono::milliseconds(100)});
    }

    HandEngine& engine;
    const ContainerSpec spec;
    ContainerEvents& events;
    ContainerUse use;
    ItemRun program;
    std::vector<ItemRun> runs;  // that have not ended
    std::vector<std::uint64_t> stopped;
    std::vector<std::string> roles;           // as they were told
    std::map<std::uint64_t, Stream> streams;  // by number, also those that are over
    std::size_t runs_before_role = 0;
    bool no_more = false;
  };

  explicit HandEngine(Loop& loop) : loop_(loop) {}
  void Recover(Done<EngineInfo> done) override {
    loop_.After({}, [done = std::move(done)] { done(EngineInfo{"hand", true}); });
  }
  void Open(const ContainerSpec& spec, ContainerEvents& events,
            Done<std::unique_ptr<Container>> done) override {
    loop_.After({}, [this, spec, &events, done = std::move(done)] {
      done(std::make_unique<Made>(*this, spec, events));
    });
  }
  std::size_t containers() const override { return made.size(); }
  std::string open_network() const override { return {}; }

  std::vector<Made*> made;

 private:
  Loop& loop_;
};

}  // namespace tidemill
