// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tidemill::init {

// How many processes of this container the kernel has killed for want of memory, as its cgroup
// counts them. Init looks at it, and not its agent, because only init knows that one item is over
// and the next has not begun. The kernel counts before it kills, so whoever has waited for a victim
// sees it counted; and it counts those, too, that it kills because the whole machine has no memory.
class OomKills {
 public:
  // Where /proc and the cgroups are; tests have their own.
  explicit OomKills(std::string proc = "/proc", std::string cgroups = "/sys/fs/cgroup")
      : proc_(std::move(proc)), cgroups_(std::move(cgroups)) {}
  ~OomKills();
  OomKills(const OomKills&) = delete;
  OomKills& operator=(const OomKills&) = delete;

  // Finds the counter of our own cgroup, of version 1 or 2, and keeps it open: what an item does to
  // the paths later changes nothing. False: there is none, and Count stays 0.
  bool Open();
  std::int64_t Count() const;

 private:
  const std::string proc_;
  const std::string cgroups_;
  int file_ = -1;
};

}  // namespace tidemill::init
