// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tidemill {

// The files of migrations/, in order, as the build has put them in.
struct Migration {
  int number;
  const char* name;
  const char* sql;
};
extern const Migration kMigrations[];
extern const int kMigrationCount;

}  // namespace tidemill
