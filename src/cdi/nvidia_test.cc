// SPDX-License-Identifier: Apache-2.0
#include "cdi/nvidia.h"

#include <gtest/gtest.h>

#include "cdi/cdi_testing.h"
#include "cdi/find_nvidia.h"
#include "cdi/host_nodes.h"
#include "cdi/inventory.h"
#include "wire/cdi_format.h"
#include "wire/cdi_json.h"

namespace tidemill {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* kLib = "/usr/lib/x86_64-linux-gnu";

void WriteGpu(const FakeTree& tree, const std::string& bus, int minor, const std::string& uuid) {
  tree.Node("/dev/nvidia" + std::to_string(minor), S_IFCHR, 1, 3);
  tree.Write("/proc/driver/nvidia/gpus/" + bus + "/information",
             "Model: \t NVIDIA A10G\nGPU UUID: \t " + uuid + "\nBus Location: \t " + bus +
                 "\nDevice Minor: \t " + std::to_string(minor) + "\n");
}

// A machine of two GPUs, whose nodes are in another order than they are on the bus.
void WriteMachine(const FakeTree& tree) {
  WriteGpu(tree, "0000:00:1e.0", 0, "GPU-bb");
  WriteGpu(tree, "0000:00:1b.0", 1, "GPU-aa");
  for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
    tree.Node(std::string("/dev/") + node, S_IFCHR, 1, 5);
  }
  tree.Write("/dev/nvidia7", "no device");
  tree.Write("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n");
  const std::string lib = kLib;
  for (const char* name : {"libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler"}) {
    tree.Write(lib + "/" + name + ".so.535.104.05", "ELF");
    tree.Link(std::string(name) + ".so.535.104.05", lib + "/" + name + ".so.1");
  }
  tree.Link("libcuda.so.1", lib + "/libcuda.so");
  tree.Write(lib + "/libc.so.6", "ELF");
  tree.Write(lib + "/libcuda.so.470.1", "of another driver");
  tree.Link("loop-b", lib + "/loop-a");
  tree.Link("loop-a", lib + "/loop-b");
  tree.Link("usr/lib", "/lib");
  tree.Write("/usr/bin/nvidia-debugdump", "");
}

void WriteSmi(const FakeTree& tree, const std::string& body) {
  tree.Write("/usr/bin/nvidia-smi", "#!/bin/sh\n" + body);
  std::filesystem::permissions(tree.At("/usr/bin/nvidia-smi"), std::filesystem::perms(0755));
}

constexpr const char* kSmi = R"(
case "$1 $2" in
"--query-gpu=index,uuid,name,memory.total,pci.bus_id --format=csv,noheader,nounits")
  echo '0, GPU-aa, NVIDIA A10G, 23028, 00000000:00:1B.0'
  echo '1, GPU-bb, NVIDIA A100, 40960, 00000000:00:1E.0';;
" ") echo '| NVIDIA-SMI 535.104.05  Driver Version: 535.104.05  CUDA Version: 12.2 |';;
*) exit 2;;
esac
)";

TEST(FindNvidia, JoinsNodesAndWhatIsSaidOfThem) {
  const FakeTree tree;
  WriteMachine(tree);
  WriteSmi(tree, kSmi);
  const std::string lib = kLib;
  FoundNvidia wanted;
  wanted.gpus = {{"/dev/nvidia1", "GPU-aa", "NVIDIA A10G", std::int64_t{23028} << 20},
                 {"/dev/nvidia0", "GPU-bb", "NVIDIA A100", std::int64_t{40960} << 20}};
  wanted.driver = "535.104.05";
  wanted.cuda = "12.2";
  wanted.control_nodes = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"};
  wanted.libraries = {lib + "/libcuda.so.535.104.05", lib + "/libnvidia-ml.so.535.104.05",
                      lib + "/libnvidia-ptxjitcompiler.so.535.104.05"};
  wanted.links = {
      {"libcuda.so.1", lib + "/libcuda.so"},
      {"libcuda.so.535.104.05", lib + "/libcuda.so.1"},
      {"libnvidia-ml.so.535.104.05", lib + "/libnvidia-ml.so.1"},
      {"libnvidia-ptxjitcompiler.so.535.104.05", lib + "/libnvidia-ptxjitcompiler.so.1"}};
  wanted.tools = {"/usr/bin/nvidia-smi", "/usr/bin/nvidia-debugdump"};
  EXPECT_EQ(FindNvidia(tree.root()), wanted);
}

TEST(FindNvidia, WithoutTheToolTheBusGivesTheNumbers) {
  for (const char* smi : {"", "exit 9\n", "echo nonsense\n"}) {
    const FakeTree tree;
    WriteMachine(tree);
    if (*smi != '\0') WriteSmi(tree, smi);
    const FoundNvidia found = FindNvidia(tree.root());
    EXPECT_EQ(found.gpus, (std::vector<FoundGpu>{{"/dev/nvidia1", "GPU-aa", "NVIDIA A10G", 0},
                                                 {"/dev/nvidia0", "GPU-bb", "NVIDIA A10G", 0}}));
    EXPECT_EQ(found.driver, "535.104.05");
    EXPECT_EQ(found.cuda, "");
  }
}

TEST(FindNvidia, NodesAloneAreEnough) {
  const FakeTree tree;
  for (const int minor : {10, 2}) {
    tree.Node("/dev/nvidia" + std::to_string(minor), S_IFCHR, 1, 3);
  }
  FoundNvidia wanted;
  wanted.gpus = {{.node = "/dev/nvidia2"}, {.node = "/dev/nvidia10"}};
  EXPECT_EQ(FindNvidia(tree.root()), wanted);
  EXPECT_EQ(FindNvidia(FakeTree().root()), FoundNvidia());
}

TEST(FindNvidia, TheOnlyLibcudaTellsTheDriver) {
  const FakeTree tree;
  tree.Write("/usr/lib64/libcuda.so.550.54.15", "ELF");
  tree.Write("/usr/lib64/libcuda.so.x", "");
  EXPECT_EQ(FindNvidia(tree.root()).driver, "550.54.15");
  tree.Write("/usr/lib64/nvidia/libcuda.so.470.1", "ELF");
  EXPECT_EQ(FindNvidia(tree.root()).driver, "");
}

TEST(MakeNvidiaSpec, HasEachGpuByNumberAndUuidAndAllOfThem) {
  const FoundNvidia found{.gpus = {{"/dev/nvidia0", "GPU-aa", "NVIDIA A10G", 1 << 20},
                                   {"/dev/nvidia1", "not a name", "", 0}},
                          .driver = "535.1",
                          .cuda = "12.2",
                          .control_nodes = {"/dev/nvidiactl"},
                          .libraries = {"/usr/lib64/libcuda.so.535.1"},
                          .links = {{"libcuda.so.535.1", "/usr/lib64/libcuda.so.1"}},
                          .tools = {"/usr/bin/nvidia-smi"}};
  const auto spec = MakeNvidiaSpec(found, "/", "/opt/tidemill-runtime");
  ASSERT_TRUE(spec);
  const CdiEdits first{.nodes = {{.path = "/dev/nvidia0"}}};
  const CdiEdits second{.nodes = {{.path = "/dev/nvidia1"}}};
  const std::map<std::string, std::string> known = {{"tidemill/cuda", "12.2"},
                                                    {"tidemill/driver", "535.1"},
                                                    {"tidemill/memory", "1048576"},
                                                    {"tidemill/model", "NVIDIA A10G"},
                                                    {"tidemill/uuid", "GPU-aa"}};
  ASSERT_EQ(spec->devices.size(), 4u);
  EXPECT_EQ(spec->devices[0], (CdiDevice{"0", known, first}));
  EXPECT_EQ(spec->devices[1].edits, second);
  EXPECT_EQ(spec->devices[1].annotations.contains("tidemill/memory"), false);
  EXPECT_EQ(spec->devices[1].annotations.contains("tidemill/model"), false);
  EXPECT_EQ(spec->devices[2], (CdiDevice{"GPU-aa", known, first}));
  EXPECT_EQ(spec->devices[3].name, "all");
  EXPECT_EQ(spec->devices[3].edits.nodes, (std::vector<CdiNode>{first.nodes[0], second.nodes[0]}));
  const Texts options = {"ro", "nosuid", "nodev", "bind"};
  EXPECT_EQ(spec->edits.nodes, (std::vector<CdiNode>{{.path = "/dev/nvidiactl"}}));
  EXPECT_EQ(spec->edits.mounts,
            (std::vector<CdiMount>{
                {"/usr/lib64/libcuda.so.535.1", "/usr/lib64/libcuda.so.535.1", "", options},
                {"/usr/bin/nvidia-smi", "/usr/bin/nvidia-smi", "", options}}));
  ASSERT_EQ(spec->edits.hooks.size(), 2u);
  EXPECT_EQ(spec->edits.hooks[0], (OciHook{HookStage::kCreateContainer,
                                           "/opt/tidemill-runtime",
                                           {"tidemill-runtime", "hook", "create-symlinks", "--link",
                                            "libcuda.so.535.1::/usr/lib64/libcuda.so.1"},
                                           {},
                                           std::chrono::seconds(60)}));
  EXPECT_EQ(spec->edits.hooks[1].args,
            (Texts{"tidemill-runtime", "hook", "update-ldcache", "--folder", "/usr/lib64"}));
  EXPECT_EQ(spec->edits.env, Texts{});
  EXPECT_EQ(ParseCdiSpec(FormatCdiSpec(*spec)).value(), *spec);
}

TEST(MakeNvidiaSpec, OfNothingIsNone) {
  EXPECT_EQ(MakeNvidiaSpec({.driver = "535.1"}, "/", "/r"), std::nullopt);
}

TEST(MakeNvidiaSpec, AnotherRootIsWhereTheMachineHasThings) {
  const FakeTree tree;
  WriteMachine(tree);
  const auto spec = MakeNvidiaSpec(FindNvidia(tree.root()), tree.root(), "/r");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->edits.mounts[0].host_path,
            tree.At("/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05"));
  EXPECT_EQ(spec->edits.mounts[0].container_path,
            "/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05");
  EXPECT_EQ(spec->devices[0].edits.nodes[0].host_path, tree.At("/dev/nvidia1"));
  // What it makes is read, found and resolved as anybody else's.
  const CdiRegistry registry({{"/a.json", 0, ParseCdiSpec(FormatCdiSpec(*spec))}});
  EXPECT_EQ(registry.Troubles(), Texts{});
  const auto inventory = InventoryOf(registry);
  ASSERT_EQ(inventory.size(), 2u);
  EXPECT_EQ(inventory[1].name, (CdiName{"nvidia.com/gpu", "1"}));
  EXPECT_EQ(inventory[1].nodes, Texts{tree.At("/dev/nvidia0")});
  EXPECT_EQ(inventory[1].uuid, "GPU-bb");
  const auto edits = registry.EditsOf({"nvidia.com/gpu=GPU-aa"});
  ASSERT_TRUE(edits);
  const auto resolved = ResolveNodes(*edits, "/");
  ASSERT_TRUE(resolved) << resolved.error().reason;
  ASSERT_EQ(resolved->nodes.size(), 4u);
  EXPECT_EQ(resolved->nodes[3].path, "/dev/nvidia1");
  EXPECT_EQ(resolved->nodes[3].minor, 3);
}

}  // namespace
}  // namespace tidemill
