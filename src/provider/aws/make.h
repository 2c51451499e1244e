// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "provider/aws/group_calls.h"

namespace tidemill {

// How long a Make goes on, and how often it looks meanwhile.
struct AwsMakeTimes {
  // A group takes seconds to make an instance. Whoever ordered asks again after that.
  Duration whole = std::chrono::seconds(20);
  Duration first_look = std::chrono::milliseconds(200);
  Duration look_every = std::chrono::seconds(2);
};

// What a group had tried before something was ordered: its failures are not those of the order.
// Goes from one Make to the next that goes on with the same order.
struct AwsTriedBefore {
  std::optional<std::set<std::string>> activities = {};
};

// Makes machines of these names: names what is there, raises the target for the others, and waits
// until they are there and named, or the group says that it cannot make them; then it is not tried
// any more.
struct AwsMakeOrder {
  AwsGroup group = {};
  std::vector<std::string> names = {};
  std::set<std::string> ended = {};  // names that are over
  AwsMakeTimes times = {};
  std::shared_ptr<AwsTriedBefore> before = std::make_shared<AwsTriedBefore>();
};
void MakeInGroup(GroupCalls& calls, AwsMakeOrder order, GroupCalls::Done<Refused> done);

}  // namespace tidemill
