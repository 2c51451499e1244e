// SPDX-License-Identifier: Apache-2.0
// Specs of the shape that the vendors' own tools write, as their documentation has it.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cdi/cdi_text.h"
#include "cdi/inventory.h"
#include "cdi/registry.h"

namespace tidemill {
namespace {

using Texts = std::vector<std::string>;

// Of nvidia-ctk cdi generate, for two GPUs.
constexpr const char* kNvidia = R"(---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
    - name: "0"
      containerEdits:
        deviceNodes:
            - path: /dev/nvidia0
            - path: /dev/dri/card1
            - path: /dev/dri/renderD128
        hooks:
            - hookName: createContainer
              path: /usr/bin/nvidia-cdi-hook
              args:
                - nvidia-cdi-hook
                - create-symlinks
                - --link
                - ../card1::/dev/dri/by-path/pci-0000:3b:00.0-card
    - name: "1"
      containerEdits:
        deviceNodes:
            - path: /dev/nvidia1
            - path: /dev/dri/card2
            - path: /dev/dri/renderD129
    - name: GPU-2d3c4b5a-0001-0002-0003-000000000001
      containerEdits:
        deviceNodes:
            - path: /dev/nvidia1
            - path: /dev/dri/card2
            - path: /dev/dri/renderD129
    - name: all
      containerEdits:
        deviceNodes:
            - path: /dev/nvidia0
            - path: /dev/nvidia1
            - path: /dev/dri/card1
            - path: /dev/dri/card2
            - path: /dev/dri/renderD128
            - path: /dev/dri/renderD129
containerEdits:
    env:
        - NVIDIA_CTK_LIBCUDA_DIR=/usr/lib/x86_64-linux-gnu
        - NVIDIA_VISIBLE_DEVICES=void
    deviceNodes:
        - path: /dev/nvidia-modeset
        - path: /dev/nvidia-uvm
        - path: /dev/nvidiactl
    hooks:
        - hookName: createContainer
          path: /usr/bin/nvidia-cdi-hook
          args:
            - nvidia-cdi-hook
            - update-ldcache
            - --folder
            - /usr/lib/x86_64-linux-gnu
          env:
            - NVIDIA_CTK_DEBUG=false
    mounts:
        - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
          containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
          options:
            - ro
            - nosuid
            - nodev
            - rbind
            - rprivate
        - hostPath: /run/nvidia-persistenced/socket
          containerPath: /run/nvidia-persistenced/socket
          options: [ro, nosuid, nodev, rbind, rprivate, noexec]
)";

// Of the same tool for parts of a GPU, as JSON.
constexpr const char* kMig = R"({
  "cdiVersion": "0.5.0",
  "kind": "nvidia.com/gpu",
  "devices": [
    {"name": "0:0", "containerEdits": {"deviceNodes": [
      {"path": "/dev/nvidia0"},
      {"path": "/dev/nvidia-caps/nvidia-cap66"}, {"path": "/dev/nvidia-caps/nvidia-cap67"}]}},
    {"name": "0:1", "containerEdits": {"deviceNodes": [
      {"path": "/dev/nvidia0"},
      {"path": "/dev/nvidia-caps/nvidia-cap75"}, {"path": "/dev/nvidia-caps/nvidia-cap76"}]}},
    {"name": "all", "containerEdits": {"deviceNodes": [
      {"path": "/dev/nvidia0"},
      {"path": "/dev/nvidia-caps/nvidia-cap66"}, {"path": "/dev/nvidia-caps/nvidia-cap67"},
      {"path": "/dev/nvidia-caps/nvidia-cap75"}, {"path": "/dev/nvidia-caps/nvidia-cap76"}]}}
  ],
  "containerEdits": {"deviceNodes": [{"path": "/dev/nvidiactl"}]}
}
)";

// Of a driver for AWS Neuron that writes a device for each claim, and plain ones.
constexpr const char* kNeuron = R"({
  "cdiVersion": "0.5.0",
  "kind": "aws.amazon.com/neuron",
  "devices": [
    {
      "name": "neuron0",
      "containerEdits": {
        "env": ["AWS_NEURON_VISIBLE_DEVICES=0"],
        "deviceNodes": [{"path": "/dev/neuron0", "hostPath": "/dev/neuron0", "type": "c",
                         "permissions": "rw"}]
      }
    },
    {
      "name": "neuron1",
      "containerEdits": {
        "env": ["AWS_NEURON_VISIBLE_DEVICES=1"],
        "deviceNodes": [{"path": "/dev/neuron1", "hostPath": "/dev/neuron1", "type": "c",
                         "permissions": "rw"}]
      }
    },
    {
      "name": "claim-8a0f-neuron0-1",
      "containerEdits": {
        "env": ["NEURON_RT_VISIBLE_CORES=0-3"],
        "deviceNodes": [{"path": "/dev/neuron0"}, {"path": "/dev/neuron1"}]
      }
    }
  ]
}
)";

CdiRegistry Registry(const char* text) {
  return CdiRegistry({{"/etc/cdi/vendor", 0, ParseCdiText(text, text[0] == '{')}});
}

Texts InventoryNames(const CdiRegistry& registry) {
  Texts names;
  for (const FoundDevice& one : InventoryOf(registry)) names.push_back(one.name.device);
  return names;
}

Texts PathsOf(const CdiEdits& edits) {
  Texts paths;
  for (const CdiNode& node : edits.nodes) paths.push_back(node.path);
  return paths;
}

TEST(CdiVendors, NvidiasSpecApplies) {
  const CdiRegistry registry = Registry(kNvidia);
  ASSERT_EQ(registry.Troubles(), Texts{});
  EXPECT_EQ(InventoryNames(registry), (Texts{"0", "1"}));
  const auto edits = registry.EditsOf({"nvidia.com/gpu=0", "nvidia.com/gpu=1"});
  ASSERT_TRUE(edits) << edits.error().reason;
  EXPECT_EQ(PathsOf(*edits), (Texts{"/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidiactl",
                                    "/dev/nvidia0", "/dev/dri/card1", "/dev/dri/renderD128",
                                    "/dev/nvidia1", "/dev/dri/card2", "/dev/dri/renderD129"}));
  EXPECT_EQ(edits->env, (Texts{"NVIDIA_CTK_LIBCUDA_DIR=/usr/lib/x86_64-linux-gnu",
                               "NVIDIA_VISIBLE_DEVICES=void"}));
  ASSERT_EQ(edits->hooks.size(), 2u);
  EXPECT_EQ(edits->hooks[0].stage, HookStage::kCreateContainer);
  EXPECT_EQ(edits->hooks[0].args,
            (Texts{"nvidia-cdi-hook", "update-ldcache", "--folder", "/usr/lib/x86_64-linux-gnu"}));
  EXPECT_EQ(edits->hooks[1].args[3], "../card1::/dev/dri/by-path/pci-0000:3b:00.0-card");
  ASSERT_EQ(edits->mounts.size(), 2u);
  EXPECT_EQ(edits->mounts[1].container_path, "/run/nvidia-persistenced/socket");
  EXPECT_EQ(edits->mounts[1].options,
            (Texts{"ro", "nosuid", "nodev", "rbind", "rprivate", "noexec"}));
}

TEST(CdiVendors, PartsOfAGpuAreDevicesOfTheirOwn) {
  const CdiRegistry registry = Registry(kMig);
  ASSERT_EQ(registry.Troubles(), Texts{});
  EXPECT_EQ(InventoryNames(registry), (Texts{"0:0", "0:1"}));
  const auto edits = registry.EditsOf({"nvidia.com/gpu=0:1"});
  ASSERT_TRUE(edits);
  EXPECT_EQ(PathsOf(*edits),
            (Texts{"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap75",
                   "/dev/nvidia-caps/nvidia-cap76"}));
}

TEST(CdiVendors, NeuronsSpecApplies) {
  const CdiRegistry registry = Registry(kNeuron);
  ASSERT_EQ(registry.Troubles(), Texts{});
  EXPECT_EQ(InventoryNames(registry), (Texts{"neuron0", "neuron1"}));
  const auto edits = registry.EditsOf({"aws.amazon.com/neuron=neuron1"});
  ASSERT_TRUE(edits);
  CdiEdits wanted;
  wanted.env = {"AWS_NEURON_VISIBLE_DEVICES=1"};
  wanted.nodes = {
      {.path = "/dev/neuron1", .host_path = "/dev/neuron1", .type = 'c', .permissions = "rw"}};
  EXPECT_EQ(*edits, wanted);
}

// All the libraries of a driver, for 16 GPUs with a hook of their own each.
TEST(CdiVendors, ALargeMachineIsWithinTheLimits) {
  std::string text = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n";
  for (int i = 0; i < 16; ++i) {
    for (const char* prefix : {"", "GPU-2d3c4b5a-0001-0002-0003-0000000000"}) {
      const std::string number = std::to_string(i);
      text += "- name: \"" + (prefix + number) +
              "\"\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia" + number +
              "\n    - path: /dev/dri/card" + number + "\n    hooks:\n    - hookName: " +
              "createContainer\n      path: /usr/bin/nvidia-cdi-hook\n      args: [a, b, c, d]\n";
    }
  }
  text += "containerEdits:\n  mounts:\n";
  for (int i = 0; i < 600; ++i) {
    const std::string path = "/usr/lib/x86_64-linux-gnu/libnvidia-" + std::to_string(i) + ".so.550";
    text += "  - hostPath: " + path + "\n    containerPath: " + path +
            "\n    options:\n    - ro\n    - nosuid\n    - nodev\n    - rbind\n    - rprivate\n";
  }
  ASSERT_GT(text.size(), 64u * 1024);
  const CdiRegistry registry = Registry(text.c_str());
  ASSERT_EQ(registry.Troubles(), Texts{});
  EXPECT_EQ(InventoryNames(registry).size(), 16u);
  EXPECT_EQ(registry.EditsOf({"nvidia.com/gpu=3"})->mounts.size(), 600u);
}

}  // namespace
}  // namespace tidemill
