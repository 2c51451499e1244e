// SPDX-License-Identifier: Apache-2.0
#include "wire/loop_item.h"

#include <utility>

#include "wire/json.h"

namespace tidemill {
namespace {

void AppendPaths(std::string& out, std::string_view name,
                 const std::map<std::string, std::string>& paths) {
  if (paths.empty()) return;
  out.append(",").append(json::Quoted(name)).append(":");
  if (paths.begin()->first.empty()) {
    out.append(json::Quoted(paths.begin()->second));
    return;
  }
  char before = '{';
  for (const auto& [one, path] : paths) {
    out.push_back(std::exchange(before, ','));
    out.append(json::Quoted(one)).append(":").append(json::Quoted(path));
  }
  out.push_back('}');
}

}  // namespace

std::string LoopItemText(const LoopItem& item) {
  std::string out = R"({"item":)" + std::to_string(item.item);
  out.append(R"(,"text":)").append(json::Quoted(item.text));
  out.append(R"(,"job":)").append(json::Quoted(item.job));
  out.append(R"(,"attempt":)").append(std::to_string(item.attempt));
  AppendPaths(out, "input", item.inputs);
  AppendPaths(out, "output", item.outputs);
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
