// SPDX-License-Identifier: Apache-2.0
#include "agent/device_variables.h"

#include <gtest/gtest.h>

#include "model/outcome.h"

namespace tidemill {
namespace {

using Words = std::vector<std::string>;

MachineDevice Gpu(const std::string& path) { return {"nvidia.com/gpu", path}; }
MachineDevice Neuron(const std::string& path, int cores) {
  return {"aws.amazon.com/neuron", path, {}, cores};
}

TEST(DeviceVariables, AnItemWithoutDevicesHasNone) {
  EXPECT_EQ(DeviceVariables({}, true), Words{});
  EXPECT_EQ(DeviceVariables({}, false), Words{});
}

TEST(DeviceVariables, OfAnyKindItIsToldWhichItHas) {
  EXPECT_EQ(DeviceVariables({{"fpga", "/dev/f1"}, {"a.b/c", "a.b/c=x"}}, true),
            Words{"TIDEMILL_DEVICES=/dev/f1,a.b/c=x"});
}

TEST(DeviceVariables, CudaCountsWhatIsInItsContainer) {
  EXPECT_EQ(DeviceVariables({Gpu("nvidia.com/gpu=2"), Gpu("nvidia.com/gpu=GPU-9f")}, true),
            (Words{"TIDEMILL_DEVICES=nvidia.com/gpu=2,nvidia.com/gpu=GPU-9f",
                   "NVIDIA_VISIBLE_DEVICES=2,GPU-9f", "CUDA_VISIBLE_DEVICES=0,1"}));
}

TEST(DeviceVariables, WithoutAContainerCudaIsToldWhichOfTheMachines) {
  EXPECT_EQ(DeviceVariables({Gpu("/dev/nvidia3"), Gpu("/dev/nvidia12")}, false),
            (Words{"TIDEMILL_DEVICES=/dev/nvidia3,/dev/nvidia12", "NVIDIA_VISIBLE_DEVICES=3,12",
                   "CUDA_VISIBLE_DEVICES=3,12"}));
}

TEST(DeviceVariables, NothingIsSaidThatIsNotKnown) {
  EXPECT_EQ(DeviceVariables({Gpu("/dev/card")}, false), Words{"TIDEMILL_DEVICES=/dev/card"});
  EXPECT_EQ(DeviceVariables({Gpu("/dev/card")}, true),
            (Words{"TIDEMILL_DEVICES=/dev/card", "CUDA_VISIBLE_DEVICES=0"}));
  EXPECT_EQ(DeviceVariables({Neuron("/dev/neuron1", 0)}, true),
            (Words{"TIDEMILL_DEVICES=/dev/neuron1", "AWS_NEURON_VISIBLE_DEVICES=1"}));
}

TEST(DeviceVariables, NeuronIsToldItsCores) {
  const Words inside = {"TIDEMILL_DEVICES=/dev/neuron2,aws.amazon.com/neuron=neuron5",
                        "AWS_NEURON_VISIBLE_DEVICES=2,5", "NEURON_RT_VISIBLE_CORES=0-7"};
  const std::vector<MachineDevice> two = {Neuron("/dev/neuron2", 4),
                                          Neuron("aws.amazon.com/neuron=neuron5", 4)};
  EXPECT_EQ(DeviceVariables(two, true), inside);
  EXPECT_EQ(DeviceVariables(two, false).back(), "NEURON_RT_VISIBLE_CORES=8-11,20-23");
  EXPECT_EQ(DeviceVariables({Neuron("/dev/neuron0", 1)}, true).back(), "NEURON_RT_VISIBLE_CORES=0");
}

TEST(DeviceVariables, GoBeforeWhatASpecSays) {
  Words env = {"A=1", "CUDA_VISIBLE_DEVICES=7", "CUDA_VISIBLE_DEVICES_TOO=7",
               "NVIDIA_VISIBLE_DEVICES=all"};
  SetDeviceVariables({Gpu("/dev/nvidia1")}, true, env);
  EXPECT_EQ(env, (Words{"A=1", "CUDA_VISIBLE_DEVICES_TOO=7", "TIDEMILL_DEVICES=/dev/nvidia1",
                        "NVIDIA_VISIBLE_DEVICES=1", "CUDA_VISIBLE_DEVICES=0"}));
}

TEST(DeviceVariables, AnOutcomeHasThemByKindAndName) {
  EXPECT_EQ(OutcomeDevices({}), "");
  EXPECT_EQ(OutcomeDevices({Gpu("nvidia.com/gpu=2"), Gpu("nvidia.com/gpu=4"), {"fpga", "/dev/f1"}}),
            "nvidia.com/gpu=2,4 fpga=/dev/f1");
  const std::vector<MachineDevice> many(200, Gpu("nvidia.com/gpu=GPU-0123456789"));
  EXPECT_LE(OutcomeDevices(many).size(), kOutcomeDevicesBytes);
  EXPECT_TRUE(OutcomeDevices(many).ends_with("GPU-0123456789"));
}

TEST(DeviceVariables, KnowsByWhatVendorsCallADevice) {
  EXPECT_EQ(VendorIdOf(Gpu("/dev/nvidia10")), "10");
  EXPECT_EQ(VendorIdOf(Gpu("nvidia.com/gpu=gpu3")), "3");
  EXPECT_EQ(VendorIdOf(Gpu("nvidia.com/gpu=mig1:2")), "1:2");
  EXPECT_EQ(VendorIdOf(Gpu("nvidia.com/gpu=MIG-a-b")), "MIG-a-b");
  EXPECT_EQ(VendorIdOf(Neuron("aws.amazon.com/neuron=4", 0)), "4");
  EXPECT_EQ(VendorIdOf(Gpu("/dev/nvidiactl")), "");
}

}  // namespace
}  // namespace tidemill
