// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "wire/docker_json.h"

namespace tidemill {

// How far a pull is, summed over the layers of its image. The lines are the Engine's, but what they
// tell comes from a registry, which may be anybody's: whatever they say, this stays small.
class PullProgress {
 public:
  void Add(const DockerPullLine& line);
  // For people: "pulling its image: 120 of 350 MB", then "unpacking its image: 80 of 350 MB".
  std::string Text() const;

 private:
  struct Layer {
    std::int64_t bytes = 0;  // 0: not known yet
    std::int64_t got = 0;
    std::int64_t unpacked = 0;
    bool is_here = false;  // all of it
    bool is_unpacked = false;
  };

  std::map<std::string, Layer> layers_;  // by id; without those that were here before
};

}  // namespace tidemill
