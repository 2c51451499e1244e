// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/one_item.h"

// What the command line gives to an agent that runs one item, and what that gives back.
namespace tidemill {

// It holds the values of secrets: for a pipe, not for a disk.
std::string FormatOneItem(const OneItem& item);
Result<OneItem> ParseOneItem(std::string_view text);

// {"outcome":{...}} or {"reason":"..."}
std::string FormatOneEnd(const OneEnd& end);
Result<OneEnd> ParseOneEnd(std::string_view text);

// What a person's program is told of an item that was run here.
struct HereAnswer {
  std::string job;
  OneEnd end;
  std::string text = {};              // of the item
  std::string out = {};               // the folder with its outputs; empty: it has none
  std::optional<Outcome> fleet = {};  // what became of it there, if it is from there
};
std::string FormatHereAnswer(const HereAnswer& answer);

// What is not as on the fleet.
struct HereEdits {
  std::int64_t millicpus = 0;             // 0: as the spec says
  std::vector<std::string> command = {};  // takes the place of its own, and has no end of time;
                                          // empty: its own
};
// The document of a spec with the edits in it.
Result<std::string> EditForHere(std::string_view document, const HereEdits& edits);

}  // namespace tidemill
