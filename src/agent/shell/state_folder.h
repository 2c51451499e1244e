// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "agent/deps.h"
#include "base/id.h"
#include "base/random.h"
#include "base/result.h"

namespace tidemill {

// The folder in which an agent keeps what survives its restart:
//
//   lock      held while an agent uses the folder
//   agent     its id and key, its session and that one's token, and how often it was started
//   logs/     what items wrote and is not stored yet; see log_spool.h
//   engine/   belongs to the engine
//
// Nobody else may enter it. Loop thread only, or before the loop runs.
class StateFolder : public AgentMemory {
 public:
  // Makes the folder if it is not there, and counts the start. kConflict: another agent uses it.
  // kInvalid: it cannot be used; the reason says why.
  static Result<std::unique_ptr<StateFolder>> Open(const std::string& path, Random& random);
  ~StateFolder() override;

  // Writes to the disk and waits for it: a few times in an agent's life.
  void Keep(const SessionPass& pass) override;

  // The same for the folder's whole life.
  const std::string& id() const { return id_; }
  // What whoever joins under this machine's name must have; see JoinRequest.
  const std::string& machine_key() const { return machine_key_; }
  const SessionPass& pass() const { return pass_; }
  std::int32_t run() const { return run_; }
  std::string logs() const { return path_ + "/logs"; }
  std::string engine() const { return path_ + "/engine"; }
  std::string data() const { return path_ + "/data"; }
  std::string code() const { return path_ + "/code"; }

 private:
  StateFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  Result<void> Read();
  Result<void> Write() const;

  const std::string path_;
  const int lock_;
  std::string id_;
  std::string machine_key_;
  SessionPass pass_;
  std::int32_t run_ = 0;
};

}  // namespace tidemill
