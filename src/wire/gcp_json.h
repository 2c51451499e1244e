// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// What a pool whose machines are Google's says in its options. What is empty is not said.
struct GcpPool {
  std::string project = {};  // at Google
  std::string zone = {};
  std::string group = {};  // one that is there already, and is only used; excludes all that follow
  std::string type = {};
  std::string image = {};
  std::int64_t disk_gb = 0;  // 0: as large as the image
  std::string network = {};
  std::string subnet = {};
  std::string service_account = {};
  std::vector<std::string> scopes = {};
  std::string user_data = {};  // what cloud-init reads
  std::map<std::string, std::string> labels = {};
  std::string accelerator_type = {};
  std::int64_t accelerator_count = 0;
  bool operator==(const GcpPool&) const = default;
};

// kInvalid: something is missing, or wrong, or not known; the reason says what.
Result<GcpPool> ParseGcpPool(std::string_view text);

}  // namespace tidemill
