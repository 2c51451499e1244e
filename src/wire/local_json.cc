// SPDX-License-Identifier: Apache-2.0
#include "wire/local_json.h"

#include "wire/json.h"

namespace tidemill {
namespace {

// More than anybody would write by hand.
constexpr std::size_t kMostArgs = 64;
constexpr std::int64_t kMostMachines = 1'000'000;

Result<std::vector<std::string>> ReadArgs(const json::Fields& fields) {
  std::vector<std::string> args;
  TIDEMILL_TRY(const json::Value* array, fields.Array("args", kMostArgs));
  if (array == nullptr) return args;
  for (const json::Value& arg : *array) {
    if (!arg.is_string()) return json::Wrong(fields.In("args"), "must be strings");
    const auto& text = arg.get_ref<const std::string&>();
    if (text.empty() || text.find('\0') != std::string::npos) {
      return json::Wrong(fields.In("args"), "one is empty, or has a zero byte");
    }
    args.push_back(text);
  }
  return args;
}

}  // namespace

Result<LocalPool> ParseLocalPool(std::string_view text) {
  LocalPool pool;
  if (text.empty()) return pool;
  TIDEMILL_TRY(const json::Value value, json::Parse(text));
  TIDEMILL_TRY(const json::Fields fields, json::Fields::Of(value, {.name = "options"}));
  TIDEMILL_TRY_VOID(fields.Only({"engine", "args", "capacity"}));
  TIDEMILL_TRY(pool.engine, fields.Text("engine", {.most_bytes = 16, .absent = ""}));
  if (!pool.engine.empty() && pool.engine != "docker" && pool.engine != "process") {
    return json::Wrong(fields.In("engine"), "must be docker or process");
  }
  TIDEMILL_TRY(pool.args, ReadArgs(fields));
  if (fields.Find("capacity") != nullptr) {
    TIDEMILL_TRY(pool.capacity, fields.Int("capacity", {.least = 0, .most = kMostMachines}));
  }
  return pool;
}

}  // namespace tidemill
