// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "agent/link.h"
#include "base/loop.h"
#include "server/server.h"
#include "sim/fault_dice.h"
#include "sim/faults.h"

namespace tidemill {

// What ways to the servers share. Loop thread only.
class Network {
 public:
  // `pick` gives a server that is up, or null. All outlive it.
  Network(Loop& loop, FaultDice& dice, const NetworkFaults& faults, std::function<Server*()> pick)
      : loop_(loop), dice_(dice), faults_(faults), pick_(std::move(pick)) {}

 private:
  friend class VirtualLink;
  Duration SomeTime();

  Loop& loop_;
  FaultDice& dice_;
  const NetworkFaults& faults_;
  const std::function<Server*()> pick_;
};

// The way of one machine to whichever simulated server is up. What is on its way arrives, or not,
// whether or not the agent is still there; so it outlives the machine.
class VirtualLink : public ServerLink {
 public:
  // `own` is the machine's: what arrives there while it stands still waits.
  VirtualLink(Network& network, Loop& own) : network_(network), own_(own) {}

  // Comes once a second while there are faults: the way may be cut for a while.
  void EverySecond();
  void Heal() { cut_seconds_ = 0; }

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
  using Invoke = std::function<void(Server&, Done<T>)>;
  // Carries a request there and its answer back, if the network lets it.
  template <typename T>
  void Call(Invoke<T> invoke, Done<T> done);
  bool LosesRequest() const { return cut_seconds_ > 0 && cut_there_; }
  bool LosesReply() const { return cut_seconds_ > 0 && cut_back_; }

  Network& network_;
  Loop& own_;
  int cut_seconds_ = 0;
  bool cut_there_ = false;
  bool cut_back_ = false;
};

}  // namespace tidemill
