// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/shell/log_spool.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/result.h"

namespace tidemill {

// Stores an object under a URL, whole or not at all; called on the loop, and so is its answer.
using PutObject = std::function<void(const std::string& url, std::string body,
                                     std::function<void(Result<void>)>)>;

// Turns the spool files that nobody writes to any more into packs in the object store, oldest
// first, and removes them when they are there; tries for ever. If they take too much of the disk
// because the store does not answer, the oldest become holes. Loop thread only; files are read on
// the worker. What is not uploaded is found again by the next life.
class LogUpload {
 public:
  struct Limits {
    // Of all files together.
    std::size_t folder_bytes = std::size_t{2} << 30;
    // Each is in memory as a whole while it is packed.
    int at_once = 2;
    Duration first_retry = std::chrono::seconds(1);
    Duration longest_retry = std::chrono::seconds(60);
  };
  LogUpload(Loop& loop, Worker& worker, Log& log, PutObject put, Limits limits);
  ~LogUpload();

  // Nobody appends to it any more.
  void Add(SpoolFile file);
  // Calls when all that was added is uploaded, or stays here. May be asked for once.
  void WhenIdle(std::function<void()> done);

 private:
  void Next();
  void Start(std::uint64_t seq);
  void Packed(std::uint64_t seq, Result<SpooledPack> packed);
  void Stored(std::uint64_t seq, const Result<void>& stored);
  void Removed(std::uint64_t seq);
  void MakeRoom();
  bool idle() const;

  struct Entry {
    SpoolFile file;
    bool busy = false;   // being packed, stored, shrunk or removed
    bool stays = false;  // it has no place in a store
    bool shrunk = false;
  };
  Loop& loop_;
  Worker& worker_;
  Log& log_;
  const PutObject put_;
  const Limits limits_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  std::map<std::uint64_t, Entry> files_;
  std::size_t bytes_ = 0;
  int busy_ = 0;
  int failures_ = 0;
  TimerId timer_ = TimerId::kNone;  // set: waits before it tries again
  std::function<void()> when_idle_;
};

}  // namespace tidemill
