// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// What Google's object store says and is told. What is not needed is passed over.
namespace tidemill {

struct GcsObject {
  std::string name;
  std::int64_t size_bytes = 0;
  std::string generation;  // of its content
  std::map<std::string, std::string> metadata;
};
Result<GcsObject> ParseGcsObject(std::string_view body);

struct GcsList {
  std::vector<GcsObject> objects;
  std::vector<std::string> prefixes;
  std::string next;
};
Result<GcsList> ParseGcsList(std::string_view body);

// What goes with the content of a new object.
struct GcsNewObject {
  std::string name;
  std::string content_type;
  std::map<std::string, std::string> metadata;
};
std::string FormatGcsObject(const GcsNewObject& object);

}  // namespace tidemill
