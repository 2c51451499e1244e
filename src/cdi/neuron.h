// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/cdi.h"

namespace tidemill {

// A device of AWS Neuron: a chip of Inferentia or Trainium.
struct FoundNeuron {
  int number = 0;  // of /dev/neuronN
  int cores = 0;
  std::string model = {};  // "Trainium1"; empty: not known
  bool operator==(const FoundNeuron&) const = default;
};

struct FoundNeurons {
  std::vector<FoundNeuron> devices = {};  // by number
  std::string driver = {};
  bool operator==(const FoundNeurons&) const = default;
};

// AWS's FAQ of Neuron in containers has 2 for Inferentia2 and Trainium1, and 4 for Inferentia1,
// whose driver says so in /sys.
inline constexpr int kNeuronCores = 2;

// Looks for them under `root`: nodes in /dev, and what the driver says in /sys.
FoundNeurons FindNeurons(const std::string& root);

// A spec of aws.amazon.com/neuron: a device for each chip by its number, and one for all. Only that
// for all sets AWS_NEURON_VISIBLE_DEVICES and NEURON_RT_VISIBLE_CORES: of two devices in one
// container, the second's would undo the first's, and without them Neuron's runtime takes all
// cores of the nodes that it sees. None if there is no device.
std::optional<CdiSpec> MakeNeuronSpec(const FoundNeurons& found, const std::string& root);

}  // namespace tidemill
