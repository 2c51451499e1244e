// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// What a person asks tidemill-runtime for, as exit codes: 0, or 1 with the reason on standard
// error.
namespace tidemill {

struct GenerateOptions {
  std::vector<std::string> devices = {};  // nodes; none: what NVIDIA's and AWS's drivers have
  std::string kind = {};                  // of the devices; empty: the default one
  std::string output = {};                // a file, or a folder for a file a kind; empty: printed
  std::string driver_root = "/";
  std::string program = {};  // ours, which the specs' hooks call
};

int ListCdi(const std::vector<std::string>& folders, bool json);
int GenerateCdi(const GenerateOptions& options);
// Prints "FILE: line 7: devices[0].name: ..." for each that is wrong.
int ValidateCdi(const std::vector<std::string>& files);

// Hooks; the container's state comes on standard input.
int HookUpdateLdCache(const std::vector<std::string>& folders, const std::string& ldconfig);
int HookCreateSymlinks(const std::vector<std::string>& links);

}  // namespace tidemill
