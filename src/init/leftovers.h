// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace tidemill::init {

// The processes below init, whatever sessions and parents they have given themselves: an orphan
// among them becomes init's child. SIGCHLD must be blocked.
class Leftovers {
 public:
  // `first_process`: init is PID 1, and every process that it can see is an item's. Otherwise there
  // are strangers, and only children are killed: nobody else can have been given a child's number
  // before init waits for it.
  explicit Leftovers(bool first_process) : first_process_(first_process) {}

  // False: the kernel does not tell who the children are. Then KillAll works for PID 1 only.
  bool Works() const;
  // Sends SIGKILL once to all that can be seen now. Waits for nobody.
  void KillAll() const;
  // The same to children that are of this session, whatever groups it has made, and those groups.
  void KillSession(pid_t session) const;
  // Kills and waits until nobody is left. False: somebody does not die.
  bool End() const;

 private:
  // Of one session, or of all if it is 0.
  static void KillChildren(pid_t session);

  const bool first_process_;
};

}  // namespace tidemill::init
