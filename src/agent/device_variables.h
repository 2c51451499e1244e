// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "agent/deps.h"

namespace tidemill {

// What libraries and programs look at to find the devices that an item has, as NAME=value.
// `apart`: in a container that has these devices and no others; else the item sees all of the
// machine's.
//
//   TIDEMILL_DEVICES            all of them, by path or by CDI name, with commas between
//   NVIDIA_VISIBLE_DEVICES      of nvidia.com/gpu: their numbers or UUIDs on the machine
//   CUDA_VISIBLE_DEVICES        the same; apart: 0 to n-1, for CUDA counts what it can open from 0,
//                               whatever the nodes are called
//   AWS_NEURON_VISIBLE_DEVICES  of aws.amazon.com/neuron: their numbers on the machine
//   NEURON_RT_VISIBLE_CORES     their cores, counted over the devices that are seen; only if it is
//                               known how many each has. Without it the runtime takes all it sees
//
// A name that nobody can say a right value for is not among them.
std::vector<std::string> DeviceVariables(const std::vector<MachineDevice>& devices, bool apart);

// Puts them into an environment. What it says of the same names is taken out: the value of a spec
// was written before anybody knew the device, and a wrong one leads to none or to another's.
void SetDeviceVariables(const std::vector<MachineDevice>& devices, bool apart,
                        std::vector<std::string>& env);

// As an outcome tells of them.
std::string OutcomeDevices(const std::vector<MachineDevice>& devices);

// By what its vendor's tools know it: "3" of /dev/nvidia3, nvidia.com/gpu=3 and
// nvidia.com/gpu=gpu3, "GPU-a1" of nvidia.com/gpu=GPU-a1, "2" of aws.amazon.com/neuron=neuron2.
// Empty: its path says nothing of it.
std::string VendorIdOf(const MachineDevice& device);

}  // namespace tidemill
