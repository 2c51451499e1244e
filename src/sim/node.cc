// SPDX-License-Identifier: Apache-2.0
#include "sim/node.h"

namespace tidemill {

void Node::EverySecond(FaultDice& dice, const MachineFaults& faults) {
  link_.EverySecond();
  if (paused_seconds_ > 0) {
    if (--paused_seconds_ == 0) loop_.Resume();
  } else if (dice.Happens(faults.pause)) {
    paused_seconds_ = 1 + static_cast<int>(dice.random().Below(180));
    loop_.Pause();
  }
}

void Node::Heal() {
  link_.Heal();
  paused_seconds_ = 0;
  loop_.Resume();
}

}  // namespace tidemill
