// SPDX-License-Identifier: Apache-2.0
// No bytes break the reader; a text that it took comes back from what JsonText makes of it.
// sources: frame/json.cc frame/text.cc
#include <cstdlib>

#include "frame/json.h"
#include "frame/text.h"

namespace tidemill::frame {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void FuzzOne(std::string_view input) {
  JsonReader any(input);
  const bool is_json = any.Skip() && any.AtEnd();
  std::string text;
  if (JsonReader(input).Text(text)) {
    Require(IsUtf8(text));
    std::string again;
    const std::string quoted = JsonText(text);
    JsonReader reader(quoted);
    Require(reader.Text(again) && reader.AtEnd() && again == text);
  }
  if (ItemNameOf(input)) Require(is_json);
  double number = 0;
  std::uint64_t whole = 0;
  if (JsonReader(input).Whole(whole)) Require(JsonReader(input).Number(number));
}

}  // namespace
}  // namespace tidemill::frame

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tidemill::frame::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
