// SPDX-License-Identifier: Apache-2.0
#include "base/private_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace tidemill {
namespace {

TEST(IsOpenToOthers, LooksAtGroupAndOthers) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "private_file_test.key";
  std::ofstream(path) << "key";
  for (const auto& [mode, open] :
       {std::pair(0600, false), {0400, false}, {0640, true}, {0604, true}, {0620, true}}) {
    std::filesystem::permissions(path, std::filesystem::perms(mode));
    EXPECT_EQ(IsOpenToOthers(path.string()), open) << std::oct << mode;
  }
  std::filesystem::remove(path);
  EXPECT_FALSE(IsOpenToOthers(path.string()));
}

}  // namespace
}  // namespace tidemill
