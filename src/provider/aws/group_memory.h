// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "provider/aws/group.h"
#include "provider/provider.h"

namespace tidemill {

// The machines of a pool as they were last seen. EC2 soon forgets the tags of an instance that has
// ended, and when it did; so an end is kept here from when it was first seen on, for an hour. Pure,
// and does not survive a restart: then the end is what EC2 still tells.
class GroupMemory {
 public:
  // All that is listed, now that this is there.
  std::vector<ListedAt> See(const AwsView& view, TimePoint now);
  std::set<std::string> Ended() const;

 private:
  struct Seen {
    std::string id;
    TimePoint since{};
    TimePoint last{};  // when it was still told of
    std::optional<TimePoint> ended = {};
  };
  void Note(const AwsInstance& instance, TimePoint now);

  std::map<std::string, Seen> seen_;  // by name
};

}  // namespace tidemill
