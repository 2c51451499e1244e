// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of wire only, as is json.h.

#include <string_view>

#include "base/result.h"
#include "model/spec.h"
#include "wire/json.h"

namespace tidemill::json {

// "input", "output", "output_exists" and "skip". The params of the run are there already.
//
//   input: "s3://bucket/in/{item}"                    one
//   input: {image: "s3://bucket/{item}", mask: ...}   several, by name
//   output: "s3://bucket/out/{item.stem}.png"         a file
//   output: "s3://bucket/out/{item.stem}/"            a folder
//   output: "s3://bucket/out/{item.stem}/*.png"       what matches of a folder
Result<void> ReadData(const Fields& spec, RunSpec& run);

// Begins with s3://, gs:// or file:///.
bool IsDataUrl(std::string_view text);

}  // namespace tidemill::json
