// SPDX-License-Identifier: Apache-2.0
// Whatever containers are wanted, run, lost or left idle: together they never have more than the
// machine, and no two have the same device.
#include "agent/slots.h"

#include <chrono>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "agent/agent_testing.h"
#include "base/virtual_loop.h"
#include "engine/fake/fake_engine.h"

namespace tidemill {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kGiB = 1LL << 30;

// Looks at all containers that there are, or are being made, each time that one is added.
class CountingEngine : public Engine {
 public:
  CountingEngine(Engine& engine, const AgentOptions& options)
      : engine_(engine), options_(options) {}

  void Recover(Done<EngineInfo> done) override { engine_.Recover(std::move(done)); }
  void Open(const ContainerSpec& spec, ContainerEvents& events,
            Done<std::unique_ptr<Container>> done) override {
    const auto here = specs.insert(specs.end(), spec);
    ++opened;
    Check();
    engine_.Open(spec, events,
                 [this, here, done = std::move(done)](Result<std::unique_ptr<Container>> got) {
                   if (!got) {
                     specs.erase(here);
                     return done(std::move(got));
                   }
                   done(std::make_unique<Counted>(*this, here, *std::move(got)));
                 });
  }
  std::size_t containers() const override { return engine_.containers(); }
  std::string open_network() const override { return {}; }

  std::list<ContainerSpec> specs;
  int opened = 0;
  std::string wrong;  // what was found to be too much

 private:
  class Counted : public Container {
   public:
    Counted(CountingEngine& engine, std::list<ContainerSpec>::iterator here,
            std::unique_ptr<Container> container)
        : engine_(engine), here_(here), container_(std::move(container)) {}
    ~Counted() override { engine_.specs.erase(here_); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    void Load(ItemRun program) override { container_->Load(std::move(program)); }
    void Run(ItemRun run) override { container_->Run(std::move(run)); }
    void Stop(std::uint64_t number) override { container_->Stop(number); }
    void NoMore() override { container_->NoMore(); }
    void UseRole(std::string_view keys) override { container_->UseRole(keys); }
    ContainerUse Use() const override { return container_->Use(); }
    void OpenStream(StreamStart start) override { container_->OpenStream(std::move(start)); }
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
    CountingEngine& engine_;
    const std::list<ContainerSpec>::iterator here_;
    const std::unique_ptr<Container> container_;
  };

  void Check() {
    std::int64_t millicpus = 0;
    std::int64_t memory = 0;
    bool whole = false;
    std::set<std::string> devices;
    for (const ContainerSpec& spec : specs) {
      millicpus += spec.limits.millicpus;
      memory += spec.limits.memory_bytes;
      whole |= WantsWholeMachine(spec.limits);
      for (const std::string& path : spec.devices) {
        if (!devices.insert(path).second) wrong += "two have " + path + "; ";
      }
      std::int32_t count = 0;
      for (const auto& [kind, one] : spec.limits.devices)
        count += kind == kWholeMachine ? 0 : one.count;
      if (static_cast<std::size_t>(count) != spec.devices.size()) wrong += "other devices; ";
    }
    if (millicpus > options_.shape.millicpus) wrong += "too many processors; ";
    if (memory > options_.shape.memory_bytes) wrong += "too much memory; ";
    if (whole && specs.size() > 1) wrong += "beside a whole machine; ";
  }

  Engine& engine_;
  const AgentOptions& options_;
};

struct NoEvents : SlotEvents {
  void OnItemLog(const Attempt&, std::string_view) override {}
  void OnItemProgress(const Attempt&, std::int32_t, std::string_view) override {}
  void OnItemEnd(const Attempt&, const ItemEnd&, StopWhy) override { ++ends; }
  void OnItemsLost(const std::vector<Attempt>&, Duration, const std::string&) override {}
  void OnOpenFailed(JobId, const Error&) override {}
  void OnOpened(JobId) override {}
  void OnRoom() override {}
  int ends = 0;
};

// Slots of a machine with four processors, 8 GiB and four devices.
struct Machine {
  explicit Machine(FakeEngine::Play play) : fake(loop, std::move(play)) {
    slots.Start();
    RunFor(milliseconds(1));
  }

  void RunFor(Duration time) {
    bool over = false;
    loop.After(time, [&over] { over = true; });
    while (!over) loop.Step();
  }

  void Want(const ContainerSpec& spec, int count, const Slots::IsNeeded& is_needed) {
    const bool once = spec.job.number % 2 == 0;
    slots.Want(
        spec.job, spec.limits, count, [&spec, once] { return Slots::Wish{spec, once, {}}; },
        is_needed);
  }

  static AgentOptions Options() {
    AgentOptions options;
    options.devices = {
        {"gpu", "/dev/gpu0"}, {"fpga", "/dev/fpga0"}, {"gpu", "/dev/gpu1"}, {"gpu", "/dev/gpu2"}};
    options.shape = {4000, 8 * kGiB, CountDevices(options.devices)};
    return options;
  }

  SeededRandom random{1};
  VirtualLoop loop{random};
  const AgentOptions options = Options();
  FakeEngine fake;
  CountingEngine engine{fake, options};
  TestLink link{loop};
  TestLog log;
  TestLogs logs;
  TestMemory memory;
  AgentDeps deps{loop, link, engine, random, log, logs, memory};
  NoEvents events;
  SessionPass pass;
  ImagePins pins{deps, pass};
  Slots slots{deps, options, pins, events};
};

// Whatever the size of the case: each number as likely as any other.
int From(int least, int past) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(least, past));
}

ContainerSpec AnySpec(const Resources& shape) {
  ContainerSpec spec;
  spec.job = {From(1, 5)};
  Resources each;
  each.millicpus = *rc::gen::element(250, 500, 500, 1000, 4000);
  each.memory_bytes = *rc::gen::element<std::int64_t>(0, kGiB / 2, kGiB, kGiB, 8 * kGiB);
  if (From(0, 2) == 0) each.devices["gpu"] = From(1, 3);
  if (From(0, 4) == 0) each.devices["fpga"] = 1;
  if (From(0, 5) == 0) each = {0, 0, {{kWholeMachine, 1}}};
  const auto lease_memory = *rc::gen::element<std::int64_t>(0, 0, 2 * kGiB, 4 * kGiB);
  spec.limits = LimitsOf(each, lease_memory, shape);
  return spec;
}

RC_GTEST_PROP(Slots, NeverHaveMoreThanTheMachine, ()) {
  FakeEngine::Play play;
  play.run = [](const ItemRun&) {
    return FakeRun{.takes = milliseconds(From(1, 20'000)), .ends_container = From(0, 10) == 0};
  };
  play.open = [](const ContainerSpec&) -> Result<void> {
    if (From(0, 8) == 0) return Fail(Code::kUnavailable, "away");
    return {};
  };
  Machine machine(std::move(play));
  const auto specs = *rc::gen::container<std::vector<ContainerSpec>>(
      6, rc::gen::exec([shape = machine.options.shape] { return AnySpec(shape); }));
  const auto steps = From(1, 100);
  for (int i = 0; i < steps; ++i) {
    const ContainerSpec& spec = *rc::gen::elementOf(specs);
    const Need need{spec.job, spec.limits.memory_bytes};
    switch (From(0, 8)) {
      case 0:
        machine.slots.CloseIdle();
        break;
      case 1:
        if (From(0, 5) == 0) machine.slots.CloseAll();
        break;
      case 2:
        if (From(0, 5) == 0) machine.fake.LoseAll("restarted");
        break;
      case 3:
      case 4:
        machine.RunFor(milliseconds(From(1, 15'000)));
        break;
      case 5:
        if (machine.slots.HasPlace(need, 2)) machine.slots.Run({}, need, 2, {});
        break;
      default: {
        const bool keep = *rc::gen::arbitrary<bool>();
        machine.Want(spec, From(1, 6), [keep](const Need&) { return keep; });
      }
    }
    RC_ASSERT(machine.engine.wrong.empty());
  }
}

TEST(Slots, FillTheMachineAndGiveEachItsOwnDevices) {
  Machine machine({});
  ContainerSpec spec;
  spec.job = {1};
  spec.limits = {1000, kGiB, {{"gpu", 1}}};
  const auto all = [](const Need&) { return true; };
  machine.Want(spec, 9, all);
  machine.RunFor(seconds(1));
  machine.Want(spec, 9, all);
  EXPECT_EQ(machine.engine.specs.size(), 3U);
  ContainerSpec other;
  other.job = {2};
  other.limits = {500, kGiB};
  machine.RunFor(seconds(1));
  machine.Want(other, 1, all);
  machine.RunFor(seconds(1));
  machine.Want(other, 9, all);
  EXPECT_EQ(machine.engine.specs.size(), 5U);
  EXPECT_EQ(machine.engine.wrong, "");
}

TEST(Slots, OneThatNeedsTheWholeMachineHasItToItself) {
  Machine machine({});
  ContainerSpec small;
  small.job = {1};
  small.limits = {250, 0};
  ContainerSpec whole;
  whole.job = {2};
  whole.limits = LimitsOf({0, 0, {{kWholeMachine, 1}}}, 0, machine.options.shape);
  const auto all = [](const Need&) { return true; };
  const auto nobody = [](const Need&) { return false; };
  machine.Want(small, 1, nobody);
  machine.RunFor(seconds(1));
  machine.Want(whole, 1, all);
  EXPECT_EQ(machine.engine.opened, 1);
  machine.Want(whole, 2, nobody);
  ASSERT_EQ(machine.engine.specs.size(), 1U);
  EXPECT_EQ(machine.engine.specs.back().limits.millicpus, 4000);
  EXPECT_EQ(machine.engine.specs.back().devices.size(), 4U);
  machine.RunFor(seconds(1));
  machine.Want(small, 1, all);
  EXPECT_EQ(machine.engine.opened, 2);
  EXPECT_EQ(machine.engine.wrong, "");
}

// A run goes only where exactly its memory is the limit.
TEST(Slots, ARunGoesOnlyToAContainerWithItsMemory) {
  Machine machine({});
  ContainerSpec spec;
  spec.job = {1};
  spec.limits = {1000, kGiB};
  machine.Want(spec, 1, [](const Need&) { return false; });
  machine.RunFor(seconds(1));
  EXPECT_TRUE(machine.slots.HasPlace({{1}, kGiB}, 1));
  EXPECT_FALSE(machine.slots.HasPlace({{1}, 2 * kGiB}, 1));
  EXPECT_FALSE(machine.slots.HasPlace({{1}, kGiB / 2}, 1));
  EXPECT_FALSE(machine.slots.HasPlace({{2}, kGiB}, 1));
}

}  // namespace
}  // namespace tidemill
