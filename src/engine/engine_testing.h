// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of engines.

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.h"

namespace tidemill {

// What a run does, in words that each kind of engine makes a command of.
struct Play {
  std::string print = {};
  int exit = 0;
  bool sleeps = false;  // until somebody ends it
  bool shows = false;   // the secret file "shown", or that there is none
};

// An engine under test, and the loop that it is on.
class EngineHolder {
 public:
  virtual ~EngineHolder() = default;
  virtual Engine& engine() = 0;
  virtual void DestroyEngine() = 0;
  virtual ContainerSpec Spec() const = 0;
  // Of a container in which there is LoopProbe, the program of tests/images/loop_probe.cc.
  virtual ContainerSpec LoopSpec() const { return Spec(); }
  virtual std::string LoopProbe() const { return ""; }
  virtual std::vector<std::string> Command(const Play& play) const = 0;
  // Of a stream that writes what it reads, and exits with this at the end of it.
  virtual std::vector<std::string> EchoCommand(int exit) const = 0;
  // Runs the loop until it is true, looked at again and again; fails after a minute.
  virtual void RunUntil(const std::function<bool()>& is_true) = 0;
};

// Makes one whose state is in the folder.
using EngineMaker = std::function<std::unique_ptr<EngineHolder>(const std::string& folder)>;

// Remembers what a container said.
class RecordedEvents : public ContainerEvents {
 public:
  void OnLog(std::uint64_t number, std::string_view bytes) override { logs[number].append(bytes); }
  void OnProgress(std::uint64_t number, std::int32_t permille, std::string_view note) override {
    progress[number] = std::to_string(permille) + " " + std::string(note);
  }
  void OnEnd(const ItemEnd& end) override {
    ends.push_back(end);
    if (on_end) on_end();
  }
  void OnStreamBytes(std::uint64_t number, bool is_error, std::string_view bytes) override {
    EXPECT_EQ(stream_ends.count(number), 0U) << "bytes after the end";
    (is_error ? errors : output)[number].append(bytes);
  }
  void OnStreamFull(std::uint64_t number, bool is_full) override { full[number] = is_full; }
  void OnStreamEnd(std::uint64_t number, const StreamEnd& end) override {
    EXPECT_TRUE(stream_ends.emplace(number, end).second) << "a second end of stream " << number;
  }
  void OnGone(const std::string& reason) override {
    EXPECT_EQ(gone, "");
    gone = reason.empty() ? "without a reason" : reason;
  }

  std::map<std::uint64_t, std::string> logs;
  std::map<std::uint64_t, std::string> progress;  // the last, such as "500 half"
  std::vector<ItemEnd> ends;
  // Of streams.
  std::map<std::uint64_t, std::string> output;
  std::map<std::uint64_t, std::string> errors;
  std::map<std::uint64_t, bool> full;
  std::map<std::uint64_t, StreamEnd> stream_ends;
  std::string gone;
  std::function<void()> on_end;
};

class EngineTest : public testing::TestWithParam<EngineMaker> {
 protected:
  EngineTest() {
    char name[] = "/tmp/tidemill-engine-XXXXXX";
    folder_ = mkdtemp(name);
    holder_ = GetParam()(folder_);
    Recover();
  }
  ~EngineTest() override {
    container_.reset();
    holder_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  EngineHolder& holder() { return *holder_; }
  Engine& engine() { return holder_->engine(); }

  void Recover() {
    std::optional<Result<EngineInfo>> info;
    engine().Recover([&](auto got) { info = std::move(got); });
    EXPECT_FALSE(info);
    holder_->RunUntil([&] { return info.has_value(); });
    ASSERT_TRUE(*info) << info->error().reason;
    info_ = **info;
    found_ = std::exchange(info_.found, {});
    if (!adopts_) found_.clear();
  }

  Result<std::unique_ptr<Container>> TryOpen(const ContainerSpec& spec) {
    std::optional<Result<std::unique_ptr<Container>>> opened;
    engine().Open(spec, events_, [&](auto got) { opened = std::move(got); });
    EXPECT_FALSE(opened);
    holder_->RunUntil([&] { return opened.has_value(); });
    return *std::move(opened);
  }
  void Open() {
    auto opened = TryOpen(holder_->Spec());
    ASSERT_TRUE(opened) << opened.error().reason;
    container_ = *std::move(opened);
  }
  void OpenForSecrets() {
    ContainerSpec spec = holder_->Spec();
    spec.secret_files = true;
    auto opened = TryOpen(spec);
    ASSERT_TRUE(opened) << opened.error().reason;
    container_ = *std::move(opened);
  }

  ItemRun ItemOf(std::uint64_t number, const Play& play) {
    return {.number = number,
            .entrypoint = std::nullopt,
            .command = holder_->Command(play),
            .env = {},
            .timeout = {},
            .grace = std::chrono::seconds(5)};
  }
  void Run(std::uint64_t number, const Play& play) { container_->Run(ItemOf(number, play)); }

  // Beside an item that has begun.
  void OpenEcho(std::uint64_t number, int exit = 0) {
    container_->OpenStream({.number = number, .command = holder_->EchoCommand(exit)});
  }
  void RunUntilOutput(std::uint64_t number, const std::string& expected) {
    holder_->RunUntil([&] {
      return events_.output[number].size() >= expected.size() ||
             events_.stream_ends.count(number) > 0;
    });
    EXPECT_EQ(events_.output[number], expected);
  }
  StreamEnd EndOfStream(std::uint64_t number) {
    holder_->RunUntil(
        [&] { return events_.stream_ends.count(number) > 0 || !events_.gone.empty(); });
    EXPECT_EQ(events_.gone, "");
    return events_.stream_ends[number];
  }
  void RunUntilEnds(std::size_t count) {
    holder_->RunUntil([&] { return events_.ends.size() >= count || !events_.gone.empty(); });
    ASSERT_EQ(events_.gone, "");
    ASSERT_EQ(events_.ends.size(), count);
  }
  void RunUntilNothingIsLeft() {
    holder_->RunUntil([&] { return engine().containers() == 0; });
    EXPECT_EQ(engine().containers(), 0u);
  }
  std::vector<int> Exits() const {
    std::vector<int> exits;
    for (const ItemEnd& end : events_.ends) exits.push_back(end.exit);
    return exits;
  }
  std::vector<std::uint64_t> Numbers() const {
    std::vector<std::uint64_t> numbers;
    for (const ItemEnd& end : events_.ends) numbers.push_back(end.number);
    return numbers;
  }

  std::string folder_;
  EngineInfo info_;
  bool adopts_ = false;  // else what Recover finds ends
  std::vector<FoundContainer> found_;
  RecordedEvents events_;
  std::unique_ptr<EngineHolder> holder_;
  std::unique_ptr<Container> container_;
};

}  // namespace tidemill
