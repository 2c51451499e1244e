// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/loop.h"

// What goes wrong in a run. Each is a chance of one time that it could, unless it says otherwise; 0
// switches it off.
namespace tidemill {

struct StoreFaults {
  double unavailable = 0;  // nothing was done
  double unknown = 0;      // it was done, and the answer was lost
  double stale = 0;        // a leader decides from what it read some time ago
  bool operator==(const StoreFaults&) const = default;
};

struct NetworkFaults {
  double lost_request = 0;
  double lost_reply = 0;  // the server has carried it out
  double twice = 0;       // the request arrives again, some time later
  double cut_off = 0;     // of a machine, each second: it hears nobody for a while, one way or both
  bool operator==(const NetworkFaults&) const = default;
};

struct MachineFaults {
  double lost_container = 0;  // ends under an item
  double engine_away = 0;     // an answer of the engine is 'try again later'
  double trouble = 0;         // a container is refused for good
  double crash = 0;           // of the agent, each second; it comes back
  double pause = 0;           // of the agent, each second: it stands still, then goes on
  double disk_full = 0;       // of the disk, each second, for a while
  double unsynced = 0;        // of a crash: what was kept last had not reached the disk
  bool operator==(const MachineFaults&) const = default;
};

struct CloudFaults {
  double error = 0;        // a call is not carried out: throttled
  double unknown = 0;      // it is carried out, and its answer is lost
  double no_capacity = 0;  // each minute: for some minutes nothing is made
  double never_up = 0;     // of a machine
  double interrupted = 0;  // of a spot machine, each hour
  double notice = 0;       // of those, with two minutes' or half a minute's notice
  double outage = 0;       // each hour: for an hour no call is carried out
  double forgotten = 0;    // of a machine that has ended: it is in no list any more
  double quota = 0;        // of times without capacity: it is a quota, which is raised afterwards
  Duration listing_late{};
  bool operator==(const CloudFaults&) const = default;
};

struct ObjectFaults {
  double unavailable = 0;
  double unknown = 0;  // it was stored, and the answer was lost
  bool operator==(const ObjectFaults&) const = default;
};

struct Faults {
  StoreFaults store;
  NetworkFaults network;
  MachineFaults machine;
  CloudFaults cloud;
  ObjectFaults objects;
  double server_crash = 0;  // of a server, each second
  double leader_pause = 0;  // of all of a server, each second: longer than a leader may be silent
  double person = 0;        // of a pause, resume, cancel or retry of some job, each second
  bool operator==(const Faults&) const = default;
};

}  // namespace tidemill
