// SPDX-License-Identifier: Apache-2.0
#include "wire/loop_item.h"

#include "wire/json.h"

namespace tidemill {

std::string LoopItemText(const LoopItem& item) {
  std::string out = R"({"item":)" + std::to_string(item.item);
  out.append(R"(,"text":)").append(json::Quoted(item.text));
  out.append(R"(,"job":)").append(json::Quoted(item.job));
  out.append(R"(,"attempt":)").append(std::to_string(item.attempt));
  const std::size_t first = item.text.find_first_not_of(" \t");
  if (first != std::string_view::npos && item.text[first] == '{') {
    if (const auto value = json::Parse(item.text)) {
      out.append(R"(,"value":)")
          .append(value->dump(-1, ' ', false, json::Value::error_handler_t::replace));
    }
  }
  return out + "}";
}

}  // namespace tidemill
