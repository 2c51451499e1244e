// SPDX-License-Identifier: Apache-2.0
#include "cdi/cdi_text.h"

#include <optional>
#include <string>

#include "wire/cdi_json.h"
#include "wire/fault.h"
#include "yaml/plain.h"
#include "yaml/yaml.h"

namespace tidemill {

Result<CdiSpec> ParseCdiText(std::string_view text, bool is_json) {
  // A mode is all that is written with a zero in front.
  constexpr YamlLimits kLimits{.bytes = kCdiTextBytes, .nodes = 100'000, .leading_zeros = false};
  // A container waits for this, and what is as it should be needs no lines.
  if (text.size() <= kCdiTextBytes) {
    const auto json = is_json ? std::optional(std::string(text)) : PlainYamlToJson(text);
    auto spec = json ? ParseCdiSpec(*json) : Result<CdiSpec>(Fail(Code::kInvalid, ""));
    if (spec) return spec;
  }
  // JSON is YAML too, and that reader knows the lines.
  TIDEMILL_TRY(const YamlText yaml, ToJson(text, kLimits));
  auto spec = ParseCdiSpec(yaml.json);
  if (spec) return spec;
  const SpecFault fault = FaultOf(spec.error().reason);
  const int line = yaml.LineOf(fault.path);
  return Fail(Code::kInvalid, "line " + std::to_string(line) + ": " + fault.text);
}

}  // namespace tidemill
