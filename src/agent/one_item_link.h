// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "agent/link.h"
#include "base/loop.h"
#include "base/random.h"
#include "model/one_item.h"

namespace tidemill {

// Stands where an agent has its servers, and has one lease of one item for it: so what runs an item
// on a person's machine is what runs it on the fleet. Loop thread only.
class OneItemLink : public ServerLink {
 public:
  struct Listener {
    // Called once, from the loop: the item has ended, or cannot begin.
    std::function<void(OneEnd)> over;
    // What it waits for, if that takes a while: "pulling its image: 40 %".
    std::function<void(const std::string&)> waits = [](const std::string&) {};
  };
  OneItemLink(Loop& loop, Random& random, OneItem item, Listener listener);

  // Whether the agent has got the item. It asks for work as soon as its engine is up.
  bool given() const { return given_; }

  void Join(JoinRequest request, Done<Joined> done) override;
  void Sync(SyncRequest request, Done<SyncResult> done) override;
  void Wait(const SessionPass& pass, Done<bool> done) override;
  void FetchItems(const SessionPass& pass, ChunkKey key, Done<std::string> done) override;
  void FetchJob(const SessionPass& pass, JobId job, Done<Job> done) override;
  void FetchSecrets(const SessionPass& pass, JobId job, Done<Secrets> done) override;
  void FetchRole(const SessionPass& pass, JobId job, Done<RoleKeys> done) override;
  void PinImage(const SessionPass& pass, JobId job, const std::string& digest,
                Done<std::string> done) override;

 private:
  template <typename T>
  void Answer(Done<T> done, Result<T> answer);
  Grant MakeGrant(const SessionId& session);
  void HearStatus(const SyncRequest& request);
  // False: the agent is to say it once more.
  bool Hear(const Settlement& settlement);
  void End(OneEnd end);

  Loop& loop_;
  Random& random_;
  const OneItem item_;
  const Listener listener_;
  Done<bool> waiting_;  // never answered: nothing else comes
  bool given_ = false;
  bool has_ended_ = false;
  bool asked_why_ = false;
  std::string why_;  // the item does not run; empty: not known
};

}  // namespace tidemill
