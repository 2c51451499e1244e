// SPDX-License-Identifier: Apache-2.0
#include "wire/up_json.h"

#include <charconv>

#include "wire/json.h"

namespace tidemill {
namespace {

constexpr std::size_t kUpPathBytes = 4096;

std::string Plain(const json::Value& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string UpText(const json::Value& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? std::string() : Plain(*found);
}

}  // namespace

std::string FormatUp(const UpFile& file) {
  return "{\"server\":" + json::Quoted(file.server) + ",\"pid\":" + std::to_string(file.pid) +
         ",\"agent_state\":" + json::Quoted(file.agent_state) + ",\"ca\":" + json::Quoted(file.ca) +
         ",\"token_file\":" + json::Quoted(file.token_file) + "}\n";
}

Result<UpFile> ParseUp(std::string_view text) {
  TIDEMILL_TRY(const json::Value value, json::Parse(text));
  TIDEMILL_TRY(const json::Fields fields, json::Fields::Of(value, {}));
  UpFile file;
  TIDEMILL_TRY(file.server, fields.Text("server", {.most_bytes = kUpPathBytes}));
  TIDEMILL_TRY(file.pid, fields.Int("pid", {.least = 1}));
  TIDEMILL_TRY(file.agent_state,
               fields.Text("agent_state", {.most_bytes = kUpPathBytes, .absent = ""}));
  TIDEMILL_TRY(file.ca, fields.Text("ca", {.most_bytes = kUpPathBytes, .absent = ""}));
  TIDEMILL_TRY(file.token_file,
               fields.Text("token_file", {.most_bytes = kUpPathBytes, .absent = ""}));
  return file;
}

std::optional<AgentReady> ParseAgentReady(std::string_view line) {
  const auto value = json::Parse(line);
  if (!value || !value->is_object() || UpText(*value, "event") != "agent.ready") {
    return std::nullopt;
  }
  AgentReady ready{UpText(*value, "machine"), UpText(*value, "engine"), UpText(*value, "cpus"), 0};
  const std::string memory = UpText(*value, "memory");
  std::from_chars(memory.data(), memory.data() + memory.size(), ready.memory_bytes);
  return ready;
}

std::string EventText(std::string_view line) {
  const auto value = json::Parse(line);
  if (!value || !value->is_object() || !value->contains("event")) return std::string(line);
  std::string out = UpText(*value, "event");
  for (const auto& [name, field] : value->get_ref<const json::Value::object_t&>()) {
    if (name == "at" || name == "event" || name == "level") continue;
    out.append("  ").append(name).append(": ").append(Plain(field));
  }
  return out;
}

}  // namespace tidemill
