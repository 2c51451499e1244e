// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "model/price.h"

// What tidemill simulate prints for programs.
namespace tidemill {

// Time of machines, and what it costs.
struct MachineBill {
  Duration time{};
  Money cost;
  bool operator==(const MachineBill&) const = default;
};

// What a job that was played has come to.
struct Rehearsed {
  std::uint64_t seed = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  Duration time{};  // until its last item was done
  // As the accounts have it, until the last machine was gone.
  MachineBill work;
  MachineBill lost;  // work of which nothing came
  MachineBill idle;
  MachineBill boot;  // before machines joined
  // What the items that succeeded took of machines: an item that is one of four on a machine takes
  // a quarter of it.
  Duration useful{};
  std::int64_t machines = 0;  // that were made
  std::int64_t most_machines = 0;
  std::int64_t interruptions = 0;
  // What the same items take in the same order on as many slots as there were at once, if nothing
  // else takes time; and what no order of them takes less than.
  std::int64_t slots = 0;
  Duration ideal{};
  Duration bound{};
  struct Moment {
    Duration at{};
    std::int64_t machines = 0;  // that are billed
    std::int64_t joined = 0;    // of them
    std::int64_t done = 0;      // items
    bool operator==(const Moment&) const = default;
  };
  std::vector<Moment> moments;
  bool operator==(const Rehearsed&) const = default;

  Money cost() const { return work.cost + lost.cost + idle.cost + boot.cost; }
  // That machines were billed for after they had joined.
  Duration joined_time() const { return work.time + lost.time + idle.time; }
  // The part of it that was useful; 0 if there was none.
  double useful_part() const;
  // How many times the ideal it took.
  double times_ideal() const;
};

// Of a value of each run: the least, the one in the middle, the greatest.
struct Range {
  double least = 0;
  double median = 0;
  double most = 0;
};
Range RangeOf(const std::vector<Rehearsed>& runs,
              const std::function<double(const Rehearsed&)>& value);

// Of a spec, what counts when it is played: what items need, and how they are tried again. They
// move no data, need no image and no code, and each is a process.
Result<std::string> PlayedSpec(std::string_view document);

// A run a seed; there is at least one.
std::string FormatRehearsals(const std::vector<Rehearsed>& runs);

}  // namespace tidemill
