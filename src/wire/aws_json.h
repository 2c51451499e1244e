// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// What a pool whose machines are instances of EC2 may say in its options.
struct AwsPool {
  std::string region = {};  // empty: that of the server
  std::string group = {};   // a group that is there already; nothing else is said then
  std::vector<std::string> types = {};
  // By type or by architecture ("x86_64", "arm64"); "" is for all others.
  std::map<std::string, std::string> images = {};
  std::optional<std::int64_t> disk_gb = {};  // of the root; nothing: what the image says
  std::vector<std::string> subnets = {};
  std::vector<std::string> security_groups = {};
  std::string key = {};        // the name of a key pair
  std::string role = {};       // the name or ARN of an instance profile
  std::string user_data = {};  // what the instance runs when it comes up
  std::optional<std::int64_t> spot_percent = {};
  std::map<std::string, std::string> tags = {};
  bool operator==(const AwsPool&) const = default;
};

// kInvalid: something else is in it, and the reason says what. Whether it is enough to make
// machines of is not asked here.
Result<AwsPool> ParseAwsPool(std::string_view text);

}  // namespace tidemill
