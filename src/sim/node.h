// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "sim/fault_dice.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "sim/pausable_loop.h"

namespace tidemill {

// Where a machine is: its own time, and its way to the servers. Both may stop for a while.
class Node {
 public:
  Node(Loop& loop, Network& network) : loop_(loop), link_(network, loop_) {}

  Loop& loop() { return loop_; }
  ServerLink& link() { return link_; }

  // Comes once a second while there are faults.
  void EverySecond(FaultDice& dice, const MachineFaults& faults);
  void Heal();

 private:
  PausableLoop loop_;
  VirtualLink link_;
  int paused_seconds_ = 0;
};

// All that there ever were, by the machine's name.
using Nodes = std::map<std::string, std::unique_ptr<Node>>;

}  // namespace tidemill
