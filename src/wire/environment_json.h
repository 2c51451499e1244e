// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/environment.h"

namespace tidemill {

// {"name":"films","from":"requirements.txt","base":"cpu","python":"3.11","apt":["ffmpeg"],
// "code":true}. Only the first two must be there. kInvalid, with the field's path (see FaultOf).
Result<Environment> ParseEnvironment(std::string_view text);
std::string FormatEnvironment(const Environment& environment);

// An environment.yml as JSON: {"name":"x","channels":["conda-forge"],"dependencies":["numpy=1.26",
// {"pip":["greet"]}]}. kInvalid, as above.
Result<CondaFile> ParseCondaFile(std::string_view text);
// {"channels":[],"dependencies":[],"pip":[]}
std::string FormatCondaFile(const CondaFile& file);

// What `tidemill env build` has made.
struct BuiltImage {
  std::string image;  // with its tag
  std::string id;
  std::int64_t bytes = 0;
  std::int64_t took_ms = 0;
  bool resolved = false;  // what is installed was found out anew
};
std::string FormatBuiltImage(const BuiltImage& built);

// Where `tidemill env jupyter` listens.
struct JupyterPlace {
  std::string url;  // with the token
  int port = 0;
  std::string token;
  std::string image;
};
std::string FormatJupyterPlace(const JupyterPlace& place);

// The newest that frameworks have wheels for, as a rule.
inline constexpr const char* kUsualPython = "3.11";

}  // namespace tidemill
