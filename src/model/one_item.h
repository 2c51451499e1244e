// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/job.h"
#include "model/outcome.h"

// One item of a job, run once on a machine that no server knows: a person's own.
namespace tidemill {

struct OneItem {
  Job job;
  std::int64_t item = 0;
  std::string text = {};                            // empty: it is of a bare range
  std::int32_t round = 0;                           // this and the next: as its attempt is numbered
  std::int32_t attempt = 1;                         // from 1 on
  std::int64_t memory_bytes = 0;                    // what it may use; 0: as the job's spec says
  std::map<std::string, std::string> secrets = {};  // values by name
  std::map<std::string, std::string> volumes = {};  // folders of this machine, by a volume's name
  std::string out = {};  // the folder that takes its outputs, by its whole path
  bool operator==(const OneItem&) const = default;
};

// What became of it.
struct OneEnd {
  std::optional<Outcome> outcome = {};  // nothing: it has not begun
  std::string reason = {};              // why it has not
  bool operator==(const OneEnd&) const = default;
};

}  // namespace tidemill
