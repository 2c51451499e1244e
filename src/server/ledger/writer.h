// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "objects/open.h"
#include "server/deps.h"
#include "server/ledger/batch.h"
#include "store/ledger_store.h"

namespace tidemill {

// Writes the records of all jobs to the deployment's own object store, as they come. Every server
// does so: what two write at the same time is the same. Loop thread only. Nothing of it survives a
// restart: what is still to be written stands in the database.
class LedgerWriter {
 public:
  struct Options {
    std::string objects;  // a URL that ObjectStores finds
    Duration every = std::chrono::seconds(1);
    // The longest pause while the object store or the database refuses.
    Duration longest_pause = std::chrono::minutes(1);
  };
  // All outlive it.
  LedgerWriter(ServerDeps deps, LedgerStore& ledger, ObjectStores& objects, Options options);
  ~LedgerWriter();

  void Start() { Again(options_.every); }
  // Begins nothing more.
  void Stop() { stopped_ = true; }

 private:
  struct Round;

  void Again(Duration delay);
  void Begin();
  void Put(const std::shared_ptr<Round>& round);
  void PutFile(const std::shared_ptr<Round>& round, std::size_t task, const LedgerFile& file);
  void Mark(const std::shared_ptr<Round>& round);
  void End(bool did_something);
  void Failed(const Error& error);

  const ServerDeps deps_;
  LedgerStore& ledger_;
  ObjectStores& objects_;
  const Options options_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  TimerId timer_ = TimerId::kNone;
  JobId after_{};
  Duration pause_{};
  bool stopped_ = false;
};

}  // namespace tidemill
