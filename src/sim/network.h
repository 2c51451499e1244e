// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "agent/link.h"
#include "base/loop.h"
#include "base/random.h"
#include "server/server.h"

namespace tidemill {

struct NetworkFaults {
  double lost_request = 0;
  double lost_reply = 0;  // the server has carried it out
  double twice = 0;       // the request arrives again, some time later
};

// The agents' way to whichever simulated server is up. One for all: what is on its way arrives, or
// not, whether or not the agent is still there.
class VirtualLink : public ServerLink {
 public:
  // `pick` gives a server that is up, or null.
  VirtualLink(Loop& loop, Random& random, const NetworkFaults& faults,
              std::function<Server*()> pick)
      : loop_(loop), random_(random), faults_(faults), pick_(std::move(pick)) {}

  void Join(JoinRequest request, Done<Joined> done) override;
  void Sync(SyncRequest request, Done<SyncResult> done) override;
  void Wait(const SessionPass& pass, Done<bool> done) override;
  void FetchItems(const SessionPass& pass, ChunkKey key, Done<std::string> done) override;
  void FetchJob(const SessionPass& pass, JobId job, Done<Job> done) override;
  void FetchSecrets(const SessionPass& pass, JobId job, Done<Secrets> done) override;
  void PinImage(const SessionPass& pass, JobId job, const std::string& digest,
                Done<std::string> done) override;

 private:
  template <typename T>
  using Invoke = std::function<void(Server&, Done<T>)>;
  // Carries a request there and its answer back, if the network lets it.
  template <typename T>
  void Call(Invoke<T> invoke, Done<T> done);
  Duration SomeTime();

  Loop& loop_;
  Random& random_;
  const NetworkFaults& faults_;
  const std::function<Server*()> pick_;
};

}  // namespace tidemill
