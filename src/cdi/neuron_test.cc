// SPDX-License-Identifier: Apache-2.0
#include "cdi/neuron.h"

#include <gtest/gtest.h>

#include "cdi/cdi_testing.h"
#include "cdi/inventory.h"
#include "wire/cdi_format.h"
#include "wire/cdi_json.h"

namespace tidemill {
namespace {

using Texts = std::vector<std::string>;

TEST(FindNeurons, ByNodesAndWhatTheDriverSays) {
  const FakeTree tree;
  for (const char* node : {"neuron0", "neuron2", "neuron10"}) {
    tree.Node(std::string("/dev/") + node, S_IFCHR, 1, 3);
  }
  tree.Node("/dev/neuron3", S_IFBLK, 7, 0);
  tree.Node("/dev/neuronx", S_IFCHR, 1, 3);
  tree.Node("/dev/neuron01", S_IFCHR, 1, 3);
  tree.Write("/sys/module/neuron/version", "2.16.7.0\n");
  tree.Write("/sys/class/neuron_device/neuron0/core_count", "4\n");
  tree.Write("/sys/class/neuron_device/neuron0/info/architecture/device_name", "Inferentia\n");
  tree.Write("/sys/devices/virtual/neuron_device/neuron2/core_count", "8\n");
  tree.Write("/sys/class/neuron_device/neuron10/core_count", "many\n");
  tree.Write("/sys/class/neuron_device/neuron10/info/architecture/device_name", "\x01\n");
  EXPECT_EQ(FindNeurons(tree.root()),
            (FoundNeurons{{{0, 4, "Inferentia"}, {2, 8, ""}, {10, kNeuronCores, ""}}, "2.16.7.0"}));
  EXPECT_EQ(FindNeurons(FakeTree().root()), FoundNeurons());
}

TEST(MakeNeuronSpec, HasEachDeviceAndAllOfThem) {
  const auto spec = MakeNeuronSpec({{{0, 2, "Trainium1"}, {1, 2, ""}}, "2.16.7.0"}, "/");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->kind, "aws.amazon.com/neuron");
  ASSERT_EQ(spec->devices.size(), 3u);
  EXPECT_EQ(spec->devices[0], (CdiDevice{"0",
                                         {{"tidemill/cores", "2"},
                                          {"tidemill/driver", "2.16.7.0"},
                                          {"tidemill/model", "Trainium1"}},
                                         {.nodes = {{.path = "/dev/neuron0"}}}}));
  EXPECT_EQ(spec->devices[1].annotations.contains("tidemill/model"), false);
  EXPECT_EQ(spec->devices[2].name, "all");
  EXPECT_EQ(spec->devices[2].edits.nodes,
            (std::vector<CdiNode>{{.path = "/dev/neuron0"}, {.path = "/dev/neuron1"}}));
  EXPECT_EQ(spec->devices[2].edits.env,
            (Texts{"AWS_NEURON_VISIBLE_DEVICES=0,1", "NEURON_RT_VISIBLE_CORES=0-3"}));
  EXPECT_EQ(ParseCdiSpec(FormatCdiSpec(*spec)).value(), *spec);
  const auto found = InventoryOf(CdiRegistry({{"/a.json", 0, *spec}}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].cores, 2);
  EXPECT_EQ(found[0].nodes, Texts{"/dev/neuron0"});
}

TEST(MakeNeuronSpec, OfNothingIsNoneAndOfAnotherRootIsThere) {
  EXPECT_EQ(MakeNeuronSpec({}, "/"), std::nullopt);
  const auto spec = MakeNeuronSpec({{{3, 1, ""}}, ""}, "/driver/");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->devices[0].edits.nodes[0].host_path, "/driver/dev/neuron3");
  EXPECT_EQ(spec->devices[1].edits.env,
            (Texts{"AWS_NEURON_VISIBLE_DEVICES=3", "NEURON_RT_VISIBLE_CORES=0"}));
}

}  // namespace
}  // namespace tidemill
