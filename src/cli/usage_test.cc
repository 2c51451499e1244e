// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/format.h"
#include "cli/items.h"
#include "cli/machines.h"

namespace tidemill::cli {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

StatsAnswer::Values Values(std::int64_t p50, std::int64_t p95, std::int64_t p99, std::int64_t max,
                           std::int64_t count = 1000) {
  return {count, p50, p50, p95, p99, max, {}};
}

ListedMachine Machine(const std::string& name, std::int64_t running) {
  ListedMachine machine;
  machine.session.machine = name;
  machine.session.pool = "default";
  machine.session.shape = {8000, 32 * kGiB};
  machine.seen_ms = 1'000'000;
  machine.items = running;
  MachineStatus status;
  status.engine = "docker";
  status.enforces = true;
  status.jobs.push_back({JobId{7}, static_cast<int>(running), running * 1500, running * kGiB});
  machine.status = status;
  return machine;
}

TEST(Usage, AdvisesLessMemoryOnlyIfNothingEverTookMore) {
  EXPECT_EQ(MemoryAdvice(4 * kGiB, Values(kGiB, kGiB, kGiB, 2 * kGiB)),
            "ask 2.2 GiB: up to 44 % fewer machines");
  EXPECT_EQ(MemoryAdvice(4 * kGiB, Values(kGiB, kGiB, kGiB, 7 * kGiB / 2)), "");
  EXPECT_EQ(MemoryAdvice(4 * kGiB, Values(kGiB, kGiB, kGiB, 5 * kGiB)),
            "ask 5.5 GiB: some took more than it asks for");
  EXPECT_EQ(MemoryAdvice(0, Values(kGiB, kGiB, kGiB, kGiB)),
            "ask 1.1 GiB, so that machines are not overfilled");
  EXPECT_EQ(MemoryAdvice(4 * kGiB, Values(kGiB, kGiB, kGiB, kGiB, 3)), "");
  EXPECT_EQ(MemoryAdvice(64 << 20, Values(1'000, 1'000, 1'000, 1'000)),
            "ask 16 MiB: up to 75 % fewer machines");
}

TEST(Usage, AdvisesCpusByWhatMostUse) {
  EXPECT_EQ(CpuAdvice(2000, Values(900, 950, 2000, 2000)), "ask 1: up to 50 % fewer machines");
  EXPECT_EQ(CpuAdvice(2000, Values(1700, 1900, 2000, 2000)), "");
  EXPECT_EQ(CpuAdvice(1000, Values(3900, 4000, 4000, 4000)),
            "ask 4: most use more than it asks for");
}

TEST(Usage, AddsUpWhatMachinesSayOfTheJob) {
  UseNow now;
  now.Add(Machine("a", 2), JobId{7});
  now.Add(Machine("b", 1), JobId{7});
  now.Add(Machine("c", 5), JobId{8});
  EXPECT_EQ(now.running, 3);
  EXPECT_EQ(now.machines, 2);
  EXPECT_EQ(now.millicpus, 4500);
  EXPECT_EQ(now.memory_bytes, 3 * kGiB);
}

TEST(Usage, IsATableThatFits) {
  Job job;
  job.spec.resources = {2000, 4 * kGiB};
  StatsAnswer stats;
  stats.cpu_millis = Values(1700, 1900, 2000, 2000);
  stats.memory_bytes = Values(kGiB, kGiB, kGiB, 2 * kGiB);
  stats.duration_ms = Values(71'000, 102'000, 131'000, 611'000);
  UseNow now;
  now.Add(Machine("a", 2), JobId{7});
  const std::string text = UsageText(job, stats, now, 100, false);
  EXPECT_NE(text.find("memory    4 GiB  1 GiB   1 GiB"), std::string::npos) << text;
  EXPECT_NE(text.find("duration"), std::string::npos);
  EXPECT_NE(text.find("102 s"), std::string::npos);
  EXPECT_NE(text.find("now 2 items on 1 machine, together 3 cpus and 2 GiB."), std::string::npos)
      << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(WidthOf(line), 100u) << line;
}

TEST(Machines, AreListedWithTheirSum) {
  ListedMachine draining = Machine("b", 3);
  draining.session.state = SessionState::kDraining;
  draining.status->engine = "process";
  draining.status->enforces = false;
  const std::string text = MachinesText({Machine("a", 2), draining}, 1'004'000, 100, false);
  EXPECT_NE(text.find("a        default  ready        8  32 GiB  -        docker"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("draining"), std::string::npos);
  EXPECT_NE(text.find("process (not enforced)"), std::string::npos);
  EXPECT_NE(text.find("4 s ago"), std::string::npos);
  EXPECT_NE(text.find("2 machines: 16 cpus, 64 GiB, 5 items leased."), std::string::npos) << text;
  EXPECT_NE(MachinesText({}, 0, 100, false).find("tidemill up"), std::string::npos);
}

TEST(Machines, OfACloudSayWhatAndWhereTheyAre) {
  ListedMachine spot = Machine("b", 3);
  spot.status->type = "c7i.4xlarge";
  spot.status->zone = "eu-west-1a";
  spot.status->spot = true;
  const std::string text = MachinesText({Machine("a", 2), spot}, 1'004'000, 120, false);
  EXPECT_NE(text.find("c7i.4xlarge eu-west-1a spot"), std::string::npos) << text;
  EXPECT_NE(text.find("PLACE"), std::string::npos);
  EXPECT_EQ(MachinesText({Machine("a", 2)}, 1'004'000, 120, false).find("PLACE"),
            std::string::npos);
}

TEST(Machines, SayWhyTheyWerePutAsideAndWhichDevicesTheyHave) {
  ListedMachine bad = Machine("b", 3);
  bad.session.state = SessionState::kDraining;
  bad.session.aside = "4 items failed here and succeeded on other machines";
  bad.session.shape.devices = {{"machine", 1}, {"nvidia.com/gpu", 8}};
  const std::string text = MachinesText({bad}, 1'004'000, 100, false);
  EXPECT_NE(text.find("b        default  aside     8  32 GiB  8 nvidia.com/gpu  docker"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("b was put aside: 4 items failed here and succeeded on other machines\n"),
            std::string::npos)
      << text;
}

TEST(Items, SayHowTheirLastAttemptEnded) {
  ListedItem item;
  item.state = ItemState::kFailed;
  EXPECT_EQ(CauseText(item), "failed");
  item.outcome = Outcome{};
  item.outcome->cause = Cause::kFailed;
  item.outcome->exit = 1;
  EXPECT_EQ(CauseText(item), "exit 1");
  item.outcome->exit = 128 + 9;
  EXPECT_EQ(CauseText(item), "signal 9");
  item.outcome->cause = Cause::kLost;
  EXPECT_EQ(CauseText(item), "machine lost");
  item.outcome->cause = Cause::kTimeout;
  EXPECT_EQ(CauseText(item), "timeout");
  item.outcome->cause = Cause::kOutOfMemory;
  EXPECT_EQ(CauseText(item), "out of memory");
  item.state = ItemState::kWaiting;
  EXPECT_EQ(CauseText(item), "waiting (out of memory)");
  // It is tried again: what the last attempt said is not its end.
  item.state = ItemState::kRunning;
  EXPECT_EQ(CauseText(item), "running");
}

}  // namespace
}  // namespace tidemill::cli
