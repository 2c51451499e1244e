// SPDX-License-Identifier: Apache-2.0
#include "wire/stream_json.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "wire/json.h"
#include "wire/status_json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;

constexpr std::int64_t kMostUint16 = std::numeric_limits<std::uint16_t>::max();

Result<std::uint16_t> ReadUint16(const Fields& fields, std::string_view name,
                                 std::uint16_t absent) {
  TIDEMILL_TRY(const std::int64_t number,
               fields.Int(name, {.least = 1, .most = kMostUint16, .absent = absent}));
  return static_cast<std::uint16_t>(number);
}

Result<std::vector<std::string>> ReadCommand(const Fields& fields) {
  std::vector<std::string> command;
  TIDEMILL_TRY(const Value* array, fields.Array("command", kStreamWords));
  if (array == nullptr) return command;
  const Path in_array = fields.In("command");
  std::size_t bytes = 0;
  for (const Value& value : *array) {
    const Path path{&in_array, {}, command.size()};
    if (!value.is_string()) return json::Wrong(path, "must be a string");
    const auto& word = value.get_ref<const std::string&>();
    if (word.find('\0') != std::string::npos) return json::Wrong(path, "must not have a NUL");
    if (word.empty() && command.empty()) return json::Wrong(path, "must name a program");
    bytes += word.size();
    if (bytes > kStreamCommandBytes) {
      return json::Wrong(in_array,
                         "is longer than " + std::to_string(kStreamCommandBytes) + " bytes");
    }
    command.push_back(word);
  }
  return command;
}

bool IsTermLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._+-").find(c) != std::string_view::npos;
}

Result<std::string> ReadTerm(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view term,
               fields.Text("term", {.most_bytes = kStreamTermBytes, .absent = ""}));
  if (!std::all_of(term.begin(), term.end(), IsTermLetter)) {
    return json::Wrong(fields.In("term"), "may have letters, digits and any of . _ + - only");
  }
  return std::string(term);
}

}  // namespace

std::string FormatStreamAsk(const StreamAsk& ask) {
  std::string out = "{";
  if (ask.port != 0) {
    json::AppendNumber(out, "port", ask.port);
    return out.append("}");
  }
  if (!ask.command.empty()) json::AppendStrings(out, "command", ask.command);
  json::AppendFlag(out, "terminal", ask.terminal);
  json::AppendNumber(out, "rows", ask.rows);
  json::AppendNumber(out, "columns", ask.columns);
  if (!ask.term.empty()) json::AppendText(out, "term", ask.term);
  return out.append("}");
}

Result<StreamAsk> ParseStreamAsk(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  StreamAsk ask;
  if (fields.Find("port") != nullptr) {
    TIDEMILL_TRY(ask.port, ReadUint16(fields, "port", 0));
    if (value.size() > 1) return json::Wrong(fields.In("port"), "must be the only field");
    return ask;
  }
  TIDEMILL_TRY_VOID(fields.Only({"port", "command", "terminal", "rows", "columns", "term"}));
  TIDEMILL_TRY(ask.command, ReadCommand(fields));
  TIDEMILL_TRY(ask.terminal, fields.Flag("terminal", ask.terminal));
  TIDEMILL_TRY(ask.rows, ReadUint16(fields, "rows", ask.rows));
  TIDEMILL_TRY(ask.columns, ReadUint16(fields, "columns", ask.columns));
  TIDEMILL_TRY(ask.term, ReadTerm(fields));
  return ask;
}

std::string FormatRefusal(std::string_view reason) {
  static_assert(kRefusalBytes >= limits::kReasonBytes);
  std::string out = "{";
  json::AppendText(out, "reason", json::ReasonText(reason));
  return out.append("}");
}

Result<std::string> ParseRefusal(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"reason"}));
  TIDEMILL_TRY(const std::string_view reason, fields.Text("reason", {.most_bytes = kRefusalBytes}));
  return std::string(reason);
}

}  // namespace tidemill
