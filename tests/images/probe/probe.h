// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program that tries, from inside a container, what nobody there may do.

#include <cstdint>
#include <span>

namespace probe {

// One attempt. It says whether it got through; if it did not, errno says why. Each runs in a
// process of its own, which may die of it: that is no success.
struct Attempt {
  const char* name;
  bool (*get_through)();
};

std::span<const Attempt> MountAttempts();
std::span<const Attempt> ProcessAttempts();
std::span<const Attempt> KernelAttempts();
std::span<const Attempt> FileAttempts();
std::span<const Attempt> NetworkAttempts();

// From the environment: what the test has put on the machine for us to find. Empty if it has not.
const char* Canary();        // the path of a file of the machine
const char* DockerSocket();  // the path of the Engine's socket on the machine
const char* AbstractName();  // a Unix socket without a path, in the machine's network namespace
int MachinePid();            // a process outside
int MachineShm();            // the key of a System V shared memory

// Tries to connect to each `KIND:ADDRESS:PORT` at once (kind: tcp or udp; the address may be IPv6,
// in brackets), and to the metadata service in all ways that there are. Prints a line for each.
int Reach(std::span<char*> targets);
int Metadata(const char* gateway);
int Listen();  // at port 7777, for ever

// Uses something up until it is refused.
int Fork();    // processes
int Memory();  // memory
int Shm();     // /dev/shm
int Files();   // descriptors
int Flood();   // the log
int Core();    // a core dump

}  // namespace probe
