// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/names.h"

#include <regex>
#include <set>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

bool IsGoogleName(const std::string& name) {
  static const std::regex pattern("[a-z]([-a-z0-9]{0,61}[a-z0-9])?");
  return std::regex_match(name, pattern);
}

TEST(GcpNames, APlainPoolIsCalledAsItIs) {
  const GcpNames names("films", "spot");
  EXPECT_EQ(names.group(), "tidemill-films-spot");
  const auto instance = names.InstanceOf("spot-17");
  ASSERT_TRUE(instance);
  EXPECT_EQ(*instance, names.base() + "-spot-17");
  EXPECT_EQ(names.MachineOf(*instance), "spot-17");
}

TEST(GcpNames, NoTwoPoolsShareANameAndGoogleTakesThemAll) {
  const std::string lengthy(64, 'x');
  const std::pair<std::string, std::string> pools[] = {
      {"films", "spot"}, {"Films", "spot"},  {"films", "Spot"}, {"films", "sp.ot"},
      {"a-b", "c"},      {"a", "b-c"},       {lengthy, "a"},    {lengthy, lengthy},
      {"a", lengthy},    {"films", "spot-"}, {"9", "9"},        {"films", "spot_1"}};
  std::set<std::string> groups;
  std::set<std::string> instances;
  for (const auto& [project, pool] : pools) {
    const GcpNames names(project, pool);
    EXPECT_TRUE(IsGoogleName(names.group())) << names.group();
    EXPECT_TRUE(IsGoogleName(names.TemplateOf("x"))) << names.TemplateOf("x");
    EXPECT_TRUE(groups.insert(names.group()).second) << names.group();
    const std::string machine = pool + "-9223372036854775807";
    const auto instance = names.InstanceOf(machine);
    ASSERT_TRUE(instance);
    EXPECT_TRUE(IsGoogleName(*instance)) << *instance;
    EXPECT_TRUE(instances.insert(*instance).second) << *instance;
    EXPECT_EQ(names.MachineOf(*instance), machine);
  }
}

TEST(GcpNames, OtherInstancesAreNoMachines) {
  const GcpNames names("films", "spot");
  const std::string base = names.base();
  for (const std::string& other :
       {std::string("vm"), base + "-x4f2", base + "-spot-", base + "-spot-01", base + "-spot-1x",
        base + "-spot--1", base + "-dear-1", *GcpNames("music", "spot").InstanceOf("spot-1")}) {
    EXPECT_FALSE(names.MachineOf(other)) << other;
  }
  for (const char* other : {"", "spot", "spot-", "spot-01", "dear-1", "spot-1-1", "spot--1"}) {
    EXPECT_FALSE(names.InstanceOf(other)) << other;
  }
}

TEST(GcpNames, ATemplateIsCalledByWhatIsInIt) {
  const GcpNames names("films", "spot");
  EXPECT_EQ(names.TemplateOf("a"), names.TemplateOf("a"));
  EXPECT_NE(names.TemplateOf("a"), names.TemplateOf("b"));
  EXPECT_TRUE(names.IsTemplate(names.TemplateOf("a")));
  EXPECT_FALSE(names.IsTemplate("tidemill-films-spot"));
  EXPECT_FALSE(names.IsTemplate("tidemill-films-spot-mine-own"));
  EXPECT_FALSE(names.IsTemplate(GcpNames("films", "spot2").TemplateOf("a")));
}

}  // namespace
}  // namespace tidemill
