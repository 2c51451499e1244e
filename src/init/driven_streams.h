// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "frame/stream.h"
#include "init/driven_init.h"

// For tests: streams into what the real tidemill-init runs.
namespace tidemill::init {

// Waits until so many processes have the text in their command line.
inline void AwaitAlive(const std::string& text, int count) {
  for (int i = 0; i < kPatienceMs / 10 && Alive(text) != count; ++i) usleep(10'000);
  ASSERT_EQ(Alive(text), count) << text;
}

inline void AwaitFile(const std::string& file) {
  for (int i = 0; i < kPatienceMs / 10 && !std::filesystem::exists(file); ++i) usleep(10'000);
  ASSERT_TRUE(std::filesystem::exists(file)) << file;
}

class StreamInit : public DrivenInit {
 public:
  using DrivenInit::DrivenInit;

  // Starts the item 1, which ends when there is a file "end" in its scratch.
  void RunItem(const Files& secret_files = {}) {
    RunShell(1, "echo on; while [ ! -e $1/end ]; do sleep 0.02; done; echo off", {}, secret_files);
    AwaitStep([&] { return logs[1] == "on\n"; });
  }
  void EndItem() {
    Touch("end");
    AwaitEnd(1);
  }
  void Touch(const std::string& name) { std::ofstream(scratch() + "/" + name).put('x'); }

  void Open(std::uint64_t number, const std::vector<std::string>& argv, bool terminal = false,
            const std::vector<std::string>& env = {}) {
    frame::Open open{.terminal = terminal, .size = {.rows = 33, .columns = 77}};
    open.program.argv.assign(argv.begin(), argv.end());
    open.program.env.assign(env.begin(), env.end());
    Send(*frame::EncodeOpen(number, open));
  }
  // $1 is the scratch folder.
  void OpenShell(std::uint64_t number, const std::string& script, bool terminal = false) {
    Open(number, {kBusybox, "sh", "-c", script, "sh", scratch()}, terminal);
  }
  void OpenPort(std::uint64_t number, std::uint16_t port) {
    Send(*frame::EncodeOpen(number, {.port = port}));
  }
  void Give(std::uint64_t number, std::string_view bytes) {
    Send(frame::EncodeGive(number, bytes));
  }

  void AwaitOutput(std::uint64_t number, const std::string& text) {
    AwaitStep([&] { return output[number].find(text) != std::string::npos; });
  }
  void AwaitFull(std::uint64_t number, bool is_full) {
    AwaitStep([&] { return full.contains(number) && full[number] == is_full; });
  }
  frame::Over AwaitOver(std::uint64_t number) {
    AwaitStep([&] { return overs.contains(number); });
    return overs[number];
  }
  void AwaitEnd(std::uint64_t number) {
    AwaitStep([&] { return ends.contains(number); });
  }
  // Reads frames until it is so.
  template <typename IsSo>
  void AwaitStep(IsSo is_so) {
    while (!is_so()) {
      const auto got = NextFrame();
      ASSERT_TRUE(got) << "init says no more";
      Keep(*got);
    }
  }

  std::map<std::uint64_t, std::string> output;
  std::map<std::uint64_t, std::string> errors;
  std::map<std::uint64_t, bool> full;
  std::map<std::uint64_t, frame::Over> overs;
  std::map<std::uint64_t, std::string> logs;
  std::map<std::uint64_t, frame::End> ends;

 private:
  void Keep(const frame::Frame& got) {
    ASSERT_FALSE(overs.contains(got.number)) << "after the last of " << got.number;
    switch (got.kind) {
      case frame::Kind::kOutput:
        output[got.number] += got.payload;
        return;
      case frame::Kind::kErrors:
        errors[got.number] += got.payload;
        return;
      case frame::Kind::kFull:
        full[got.number] = frame::DecodeFlag(got.payload).value();
        return;
      case frame::Kind::kOver:
        overs[got.number] = frame::DecodeOver(got.payload).value();
        return;
      case frame::Kind::kLog:
        logs[got.number] += got.payload;
        return;
      case frame::Kind::kEnd:
        ends[got.number] = frame::DecodeEnd(got.payload).value();
        return;
      default:
        FAIL() << static_cast<int>(got.kind);
    }
  }
};

}  // namespace tidemill::init
