// SPDX-License-Identifier: Apache-2.0
#include "wire/spec_json.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "model/cloud_role.h"
#include "model/template.h"
#include "wire/data_json.h"
#include "wire/duration.h"
#include "wire/json.h"
#include "wire/nearest.h"
#include "wire/secret_uses.h"
#include "wire/spec_code.h"
#include "wire/spec_keeps.h"
#include "wire/spec_needs.h"
#include "wire/spec_notify.h"
#include "wire/spec_value.h"
#include "wire/spec_wishes.h"
#include "wire/volume_json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;
using json::Wrong;
using std::chrono::milliseconds;
using Texts = std::map<std::string, std::string>;

// A registry, a path, a tag and a digest have room.
constexpr std::size_t kImageBytes = 512;
// Each is copied for every item that runs; the spec's own size bounds their bytes.
constexpr std::size_t kArguments = 1024;
constexpr std::size_t kNames = 256;
// A machine that is to go waits for it.
constexpr std::chrono::hours kMostGrace{1};

// A string that a program can be given.
Result<std::string> TextOf(const Value& value, const Path& path) {
  const std::string& text = value.get_ref<const std::string&>();
  if (text.find('\0') != std::string::npos) return Wrong(path, "must not have a NUL");
  return text;
}

Result<std::string> ArgumentOf(const Value& value, const Path& path) {
  if (value.is_string()) return TextOf(value, path);
  // Its spelling is gone by now: 1.10 has become 1.1.
  if (value.is_primitive()) return Wrong(path, "must be a string: put it in quotes");
  return Wrong(path, "must be a string");
}

Result<std::string> SimpleOf(const Value& value, const Path& path) {
  if (value.is_string()) return TextOf(value, path);
  if (value.is_number() || value.is_boolean()) return value.dump();
  return Wrong(path, "must be a string, a number, true or false");
}

Result<std::optional<std::vector<std::string>>> ReadList(const Fields& spec,
                                                         std::string_view name) {
  const Value* value = spec.Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) {
    constexpr std::size_t kShown = 60;
    const std::string& line = value->get_ref<const std::string&>();
    const std::string shown = line.size() <= kShown ? json::Quoted(line) : "\"...\"";
    return Wrong(spec.In(name), "write a list: [sh, -c, " + shown + "]");
  }
  TIDEMILL_TRY(const Value* array, spec.Array(name, kArguments));
  const Path in_array = spec.In(name);
  std::vector<std::string> list;
  for (const Value& element : *array) {
    const Path path{&in_array, {}, list.size()};
    TIDEMILL_TRY(std::string argument, ArgumentOf(element, path));
    list.push_back(std::move(argument));
  }
  return list;
}

// What the names of an object must be, and what its values are.
struct TextsRule {
  std::string_view field;
  bool (*is_name)(std::string_view);
  std::string_view names;
  Result<std::string> (*read)(const Value&, const Path&);
};

Result<Texts> ReadTexts(const Fields& spec, const TextsRule& rule) {
  const Value* value = spec.Find(rule.field);
  if (value == nullptr) return Texts();
  const Path in_object = spec.In(rule.field);
  TIDEMILL_TRY_VOID(Fields::Of(*value, in_object));
  if (value->size() > kNames) {
    return Wrong(in_object, "has more than " + std::to_string(kNames) + " names");
  }
  Texts texts;
  for (const auto& [name, one] : value->get_ref<const Value::object_t&>()) {
    if (name.size() > limits::kNameBytes || !rule.is_name(name)) {
      const std::string shown = json::Quoted(name.substr(0, limits::kNameBytes));
      return Wrong(in_object, shown + " is no name here; they are " + std::string(rule.names) +
                                  ", at most " + std::to_string(limits::kNameBytes) + " bytes");
    }
    TIDEMILL_TRY(texts[name], rule.read(one, Path{&in_object, name, 0}));
  }
  return texts;
}

Result<Texts> ReadEnv(const Fields& spec) {
  TIDEMILL_TRY(Texts env,
               ReadTexts(spec, {"env", json::IsVariable,
                                "letters, digits and '_', not beginning with a digit", SimpleOf}));
  const auto ours = env.lower_bound("TIDEMILL_");
  if (ours != env.end() && ours->first.starts_with("TIDEMILL_")) {
    const Path path = spec.In("env");
    return Wrong(Path{&path, ours->first, 0}, "names with TIDEMILL_ are set by tidemill itself");
  }
  return env;
}

Result<Mode> ReadMode(const Fields& spec) {
  TIDEMILL_TRY(const std::string_view word,
               spec.Text("mode", {.most_bytes = limits::kNameBytes, .absent = ModeName({})}));
  const auto mode = ParseMode(word);
  if (!mode) return Wrong(spec.In("mode"), "must be \"process\", \"container\" or \"loop\"");
  return *mode;
}

template <typename Data>
bool HasName(const std::vector<Data>& data, const std::string& name) {
  return std::any_of(data.begin(), data.end(), [&](const Data& one) { return one.name == name; });
}

std::string NoSuchData(const std::string& word, const std::string& name, bool has_others) {
  const std::string shown = name.empty() ? word : word + "." + name;
  std::string what = "'{" + shown + "}': the spec has no '" + word + "'";
  if (has_others) what += name.empty() ? " without a name" : " of this name";
  return what;
}

Result<void> CheckPiece(const TemplatePiece& piece, const RunSpec& run, const Path& path) {
  const Texts& params = run.params;
  if (piece.kind == TemplatePiece::Kind::kParam && !params.contains(piece.text)) {
    std::vector<std::string_view> known;
    for (const auto& [name, value] : params) known.push_back(name);
    return Wrong(path, "'{params." + piece.text + "}': unknown param '" + piece.text + "'; " +
                           HintFor(piece.text, known));
  }
  if (piece.kind == TemplatePiece::Kind::kInput && !HasName(run.inputs, piece.text)) {
    return Wrong(path, NoSuchData("input", piece.text, !run.inputs.empty()));
  }
  if (piece.kind == TemplatePiece::Kind::kOutput && !HasName(run.outputs, piece.text)) {
    return Wrong(path, NoSuchData("output", piece.text, !run.outputs.empty()));
  }
  if (piece.kind != TemplatePiece::Kind::kUnknown) return {};
  const std::string shown = piece.text.substr(0, limits::kNameBytes);
  const std::string_view word = std::string_view(shown).substr(0, shown.find('.'));
  const std::string what = "unknown template '{" + shown + "}'; ";
  if (word == "params") return Wrong(path, what + "write '{params.NAME}'");
  const bool is_known =
      std::find(kTemplateWords.begin(), kTemplateWords.end(), word) != kTemplateWords.end();
  if (is_known) return Wrong(path, what + "'" + std::string(word) + "' has no fields");
  return Wrong(path, what + HintFor(word, {kTemplateWords.begin(), kTemplateWords.end()}) +
                         " (for just these letters, write '{{" + shown + "}}')");
}

Result<void> CheckTemplates(std::string_view text, const RunSpec& run, const Path& path) {
  for (const TemplatePiece& piece : ParseTemplate(text)) {
    TIDEMILL_TRY_VOID(CheckPiece(piece, run, path));
    if (run.mode == Mode::kLoop && IsOfOneItem(piece.kind)) {
      return Wrong(path, "a loop program gets its items from $TIDEMILL_URL, not from templates");
    }
  }
  return {};
}

Result<void> CheckTemplates(const RunSpec& run, const Fields& spec) {
  const std::pair<std::string_view, const std::optional<std::vector<std::string>>&> lists[] = {
      {"entrypoint", run.entrypoint}, {"command", run.command}};
  for (const auto& [name, list] : lists) {
    const Path in_list = spec.In(name);
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      TIDEMILL_TRY_VOID(CheckTemplates((*list)[i], run, Path{&in_list, {}, i}));
    }
  }
  const Path in_env = spec.In("env");
  for (const auto& [name, value] : run.env) {
    TIDEMILL_TRY_VOID(CheckTemplates(value, run, Path{&in_env, name, 0}));
  }
  return {};
}

// An empty entrypoint sets the image's own aside, as in Docker; then there must be a command.
Result<void> CheckLists(const RunSpec& run, const Fields& spec) {
  if (run.command && run.command->empty()) {
    return Wrong(spec.In("command"), "must not be empty; leave it away to run the image's own");
  }
  if (run.entrypoint && run.entrypoint->empty() && !run.command) {
    return Wrong(spec.In("entrypoint"), "is empty, so there must be a command");
  }
  return {};
}

Result<std::string> ReadCloudRole(const Fields& spec) {
  TIDEMILL_TRY(const std::string_view role,
               spec.Text("role", {.most_bytes = kCloudRoleBytes, .absent = ""}));
  if (spec.Find("role") != nullptr && CloudOf(role) == RoleCloud::kNone) {
    return Wrong(spec.In("role"),
                 "must be a role of AWS, as arn:aws:iam::123456789012:role/NAME, or a service "
                 "account of Google, as NAME@PROJECT.iam.gserviceaccount.com");
  }
  return std::string(role);
}

Result<RunSpec> ReadRun(const Fields& spec) {
  constexpr json::TimeBounds kTimeout{milliseconds(1), kMostDuration, milliseconds(0),
                                      "from 1 ms to 366 days; leave it away for none"};
  const json::TimeBounds grace{milliseconds(0), kMostGrace, RunSpec().grace, "from 0 to 1 hour"};
  RunSpec run;
  if (spec.Find("image") != nullptr) {
    TIDEMILL_TRY(run.image, spec.Text("image", {.most_bytes = kImageBytes}));
  }
  TIDEMILL_TRY(run.image_login, json::ReadImageLogin(spec));
  TIDEMILL_TRY(run.entrypoint, ReadList(spec, "entrypoint"));
  TIDEMILL_TRY(run.command, ReadList(spec, "command"));
  TIDEMILL_TRY_VOID(CheckLists(run, spec));
  TIDEMILL_TRY(run.env, ReadEnv(spec));
  TIDEMILL_TRY(run.secrets, json::ReadSecretUses(spec, run.env));
  TIDEMILL_TRY(run.params,
               ReadTexts(spec, {"params", IsParamName, "letters, digits, '_' and '-'", SimpleOf}));
  TIDEMILL_TRY(run.code, json::ReadCode(spec));
  TIDEMILL_TRY(run.timeout, json::ReadTime(spec, "timeout", kTimeout));
  TIDEMILL_TRY(run.grace, json::ReadTime(spec, "grace", grace));
  TIDEMILL_TRY(run.mode, ReadMode(spec));
  TIDEMILL_TRY_VOID(json::ReadData(spec, run));
  TIDEMILL_TRY(run.cache, json::ReadCache(spec));
  TIDEMILL_TRY(run.mounts, json::ReadMounts(spec));
  TIDEMILL_TRY(run.role, ReadCloudRole(spec));
  TIDEMILL_TRY(run.checkpoint_every, json::ReadCheckpoint(spec));
  if (run.mode == Mode::kLoop && run.checkpoint_every.count() > 0) {
    return Wrong(spec.In("checkpoint"), "a loop program has none: its items share one process");
  }
  TIDEMILL_TRY_VOID(CheckTemplates(run, spec));
  return run;
}

}  // namespace

bool json::IsVariable(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_rest = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && is_letter(name.front()) && std::all_of(name.begin(), name.end(), is_rest);
}

Result<std::string> json::ReadJobName(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view name,
               fields.Text("name", {.most_bytes = limits::kNameBytes, .absent = ""}));
  if (!name.empty() && !IsName(name)) {
    return Wrong(fields.In("name"),
                 "must be letters, digits, '.', '_' and '-', and begin with a letter or digit");
  }
  return std::string(name);
}

Result<ParsedSpec> json::ReadSpec(const Value& value, const Path& path) {
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, path));
  ParsedSpec parsed;
  parsed.job.document = value.dump();
  if (parsed.job.document.size() > limits::kSpecBytes) {
    return Wrong(path, "is more than " + std::to_string(limits::kSpecBytes) + " bytes");
  }
  TIDEMILL_TRY_VOID(fields.Only(
      {"name",          "image",  "image_login", "command",   "entrypoint", "env",
       "secrets",       "params", "labels",      "resources", "timeout",    "grace",
       "retries",       "retry",  "canary",      "mode",      "input",      "output",
       "output_exists", "skip",   "code",        "workdir",   "paths",      "cache",
       "checkpoint",    "queue",  "priority",    "deadline",  "budget",     "max_parallel",
       "after",         "mounts", "role",        "notify"}));
  TIDEMILL_TRY(parsed.job.name, ReadJobName(fields));
  TIDEMILL_TRY(parsed.run, ReadRun(fields));
  TIDEMILL_TRY(parsed.paths, json::ReadPaths(fields));
  TIDEMILL_TRY_VOID(json::CheckNeeds(fields));
  TIDEMILL_TRY_VOID(json::ReadNeeds(fields, parsed));
  TIDEMILL_TRY_VOID(json::ReadWishes(fields, parsed));
  TIDEMILL_TRY_VOID(json::ReadNotify(fields));  // for who tells, see ParseNotify
  return parsed;
}

Result<ParsedSpec> ParseSpec(std::string_view json) {
  TIDEMILL_TRY(const Value value, json::Parse(json));
  return json::ReadSpec(value, {});
}

}  // namespace tidemill
