// SPDX-License-Identifier: Apache-2.0
#include "lease/blame.h"

#include <algorithm>
#include <map>

namespace tidemill {
namespace {

constexpr std::int64_t kLeastBlamed = 3;
// One attempt in so many.
constexpr std::int64_t kBlamedPart = 10;
constexpr std::int64_t kPoolPart = 4;

struct PoolCount {
  std::int64_t live = 0;
  std::int64_t aside = 0;
};

bool IsBad(const MachineRecord& record) {
  return !record.aside && record.blamed >= kLeastBlamed &&
         record.blamed * kBlamedPart >= record.attempts;
}

// The one that remains must be another.
bool MayLoseOne(const PoolCount& pool) {
  return pool.live >= 2 && pool.aside < std::max<std::int64_t>(1, pool.live / kPoolPart);
}

}  // namespace

std::vector<MachineRecord> ToPutAside(std::vector<MachineRecord> records) {
  std::map<std::string, PoolCount> pools;
  for (const MachineRecord& record : records) {
    PoolCount& pool = pools[record.pool];
    ++pool.live;
    if (record.aside) ++pool.aside;
  }
  std::erase_if(records, [](const MachineRecord& record) { return !IsBad(record); });
  // By what part of its attempts it is blamed for, without dividing.
  std::stable_sort(records.begin(), records.end(),
                   [](const MachineRecord& a, const MachineRecord& b) {
                     return a.blamed * (b.attempts + 1) > b.blamed * (a.attempts + 1);
                   });
  std::erase_if(records, [&](const MachineRecord& record) {
    PoolCount& pool = pools[record.pool];
    if (!MayLoseOne(pool)) return true;
    ++pool.aside;
    return false;
  });
  return records;
}

std::string AsideReason(const MachineRecord& record) {
  return std::to_string(record.blamed) + " items failed here and succeeded on other machines";
}

}  // namespace tidemill
