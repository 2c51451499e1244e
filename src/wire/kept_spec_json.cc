// SPDX-License-Identifier: Apache-2.0
#include "wire/kept_spec_json.h"

#include <cstdint>
#include <limits>

#include "base/limits.h"
#include "wire/page_json.h"
#include "wire/spec_code.h"
#include "wire/spec_value.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Value;

Result<KeptSpec> ReadKeptSpec(const Fields& fields) {
  KeptSpec spec;
  TIDEMILL_TRY(spec.name, json::ReadNoun(fields, "name"));
  TIDEMILL_TRY(
      const std::int64_t version,
      fields.Int("version", {.least = 1, .most = std::numeric_limits<std::int32_t>::max()}));
  spec.version = static_cast<std::int32_t>(version);
  TIDEMILL_TRY(spec.made_by, fields.Text("made_by", {.most_bytes = json::kMostText, .absent = ""}));
  TIDEMILL_TRY(spec.created_ms, fields.Int("created_ms", {.absent = 0}));
  if (const Value* document = fields.Find("spec")) spec.document = document->dump();
  return spec;
}

}  // namespace

Result<std::string> ParseSpecToKeep(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY_VOID(fields.Only({"spec"}));
  const Value* spec = fields.Find("spec");
  if (spec == nullptr) return json::Wrong(fields.In("spec"), "is missing");
  const json::Path path = fields.In("spec");
  TIDEMILL_TRY(ParsedSpec parsed, json::ReadSpec(*spec, path));
  TIDEMILL_TRY_VOID(json::CheckStoredCode(parsed.run.code, path));
  return std::move(parsed.job.document);
}

std::string FormatSpecToKeep(std::string_view document) {
  std::string out = "{";
  json::AppendValue(out, "spec", document);
  return out + "}";
}

std::string FormatKeptSpec(const KeptSpec& spec) {
  std::string out = "{";
  json::AppendText(out, "name", spec.name);
  json::AppendNumber(out, "version", spec.version);
  json::AppendText(out, "made_by", spec.made_by);
  json::AppendNumber(out, "created_ms", spec.created_ms);
  if (!spec.document.empty()) json::AppendValue(out, "spec", spec.document);
  return out + "}";
}

Result<KeptSpec> ParseKeptSpec(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  return ReadKeptSpec(fields);
}

std::string IndentedSpec(const KeptSpec& spec) {
  const auto document = json::Parse(spec.document);
  return document ? document->dump(2) : spec.document;
}

std::string FormatKeptSpecs(const std::vector<KeptSpec>& specs, bool more) {
  const std::string next = more && !specs.empty() ? specs.back().name : "";
  return json::FormatPage("specs", specs, next, FormatKeptSpec);
}

Result<Page<KeptSpec>> ParseKeptSpecs(std::string_view body) {
  return json::ParsePage<KeptSpec>(body, "specs", ReadKeptSpec);
}

}  // namespace tidemill
