// SPDX-License-Identifier: Apache-2.0
#include "cli/specs.h"

#include <gtest/gtest.h>

namespace tidemill::cli {
namespace {

TEST(Specs, ARefHasANameAndPerhapsAVersion) {
  EXPECT_EQ(ParseSpecRef("render")->name, "render");
  EXPECT_FALSE(ParseSpecRef("render")->version);
  EXPECT_EQ(ParseSpecRef("a.b@12")->name, "a.b");
  EXPECT_EQ(ParseSpecRef("a.b@12")->version, 12);
  for (const char* other : {"", "-", "a/b", "render.yaml", "x.yml", "x.json", "render@", "render@0",
                            "render@-1", "render@1x", "@1", "render@99999999999"}) {
    EXPECT_FALSE(ParseSpecRef(other)) << other;
  }
}

TEST(Specs, AsATable) {
  EXPECT_EQ(SpecsText({{"render", 3, "", "ann", 0}}, 240'000, 100, false),
            "SPEC    VERSION  MADE       BY\n"
            "render        3  4 min ago  ann\n");
  EXPECT_EQ(SpecsText({}, 0, 100, false), "no specs.  Keep one:  tidemill spec put NAME FILE\n");
}

}  // namespace
}  // namespace tidemill::cli
