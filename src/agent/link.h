// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "model/exchange.h"
#include "model/job.h"
#include "model/session.h"
#include "model/sync.h"

namespace tidemill {

// An agent's way to the servers: over HTTP, or straight to a simulated server. Each call is
// answered once, with kUnknown if the answer was lost. Loop thread only.
class ServerLink {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  virtual ~ServerLink() = default;
  // kLost: the session has ended; join with a new one.
  virtual void Join(JoinRequest request, Done<Joined> done) = 0;
  virtual void Sync(SyncRequest request, Done<SyncResult> done) = 0;
  // True: sync now.
  virtual void Wait(SessionId session, Done<bool> done) = 0;
  // The items of a chunk, packed; empty for those of a bare range.
  virtual void FetchItems(ChunkKey key, Done<std::string> done) = 0;
  virtual void FetchJob(JobId job, Done<Job> done) = 0;
};

}  // namespace tidemill
