// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "model/cloud_role.h"
#include "model/exchange.h"
#include "model/job.h"
#include "model/session.h"
#include "model/sync.h"

namespace tidemill {

// Values by name.
using Secrets = std::map<std::string, std::string>;

// An agent's way to the servers: over HTTP, or straight to a simulated server. Each call is
// answered once, with kUnknown if the answer was lost. Items, jobs, secrets and keys are given only
// of jobs that the session holds a lease of: kForbidden. kNobody: the pass is not good (any more).
// Loop thread only.
class ServerLink {
 public:
  template <typename T>
  using Done = std::function<void(Result<T>)>;

  virtual ~ServerLink() = default;
  // kLost: the session has ended; join with a new one.
  virtual void Join(JoinRequest request, Done<Joined> done) = 0;
  virtual void Sync(SyncRequest request, Done<SyncResult> done) = 0;
  // True: sync now.
  virtual void Wait(const SessionPass& pass, Done<bool> done) = 0;
  // The items of a chunk, packed; empty for those of a bare range.
  virtual void FetchItems(const SessionPass& pass, ChunkKey key, Done<std::string> done) = 0;
  virtual void FetchJob(const SessionPass& pass, JobId job, Done<Job> done) = 0;
  // The values of the secrets that the job names, by name. kNotFound: one does not exist.
  virtual void FetchSecrets(const SessionPass& pass, JobId job, Done<Secrets> done) = 0;
  // The keys of the job's role as they are now. kInvalid, kNotFound: they cannot be had.
  virtual void FetchRole(const SessionPass& pass, JobId job, Done<RoleKeys> done) = 0;
  // What the image of a job is on this machine; the answer is what it is to be on all: the first
  // that was told. kNotFound: the servers pin none.
  virtual void PinImage(const SessionPass& pass, JobId job, const std::string& digest,
                        Done<std::string> done) = 0;
};

}  // namespace tidemill
