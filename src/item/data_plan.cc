// SPDX-License-Identifier: Apache-2.0
#include "item/data_plan.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "item/text_writer.h"

namespace tidemill {

Result<void> CheckDataUrl(std::string_view url) {
  const auto wrong = [url](const std::string& why) {
    return Fail(Code::kInvalid, "'" + std::string(url.substr(0, 200)) + "' " + why);
  };
  if (url.size() > limits::kUrlBytes) return wrong("is too long");
  const bool has_control =
      std::any_of(url.begin(), url.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (has_control) return wrong("has a control character");
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos || scheme == 0) return wrong("is no URL such as s3://bucket/name");
  std::string_view rest = url.substr(scheme + 3);
  if (rest.starts_with('/')) rest.remove_prefix(1);  // file:///
  if (rest.ends_with('/')) rest.remove_suffix(1);    // a folder
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == "..") {
      return wrong("has a part that is empty, '.' or '..'");
    }
    if (slash == rest.npos) return {};
    rest.remove_prefix(slash + 1);
  }
}

Result<DataPlan> DataPlan::Of(const RunSpec& spec) {
  DataPlan plan;
  for (const DataInput& input : spec.inputs) {
    TIDEMILL_TRY(Pieces pieces, PrepareText(input.url, spec));
    plan.inputs_.push_back({input, std::move(pieces)});
  }
  for (const DataOutput& output : spec.outputs) {
    TIDEMILL_TRY(Pieces pieces, PrepareText(output.url, spec));
    plan.outputs_.push_back({output, std::move(pieces)});
  }
  plan.exists_ = spec.output_exists;
  plan.skips_existing_ = spec.skip_existing;
  return plan;
}

Result<DataWork> DataPlan::For(const ItemFacts& facts, const FieldReader& read_field) const {
  TextWriter writer(facts, read_field);
  DataWork work;
  work.exists = exists_;
  for (const auto& [input, url] : inputs_) {
    DataInput& made = work.inputs.emplace_back(input);
    TIDEMILL_TRY(made.url, writer.Write(url));
    TIDEMILL_TRY_VOID(CheckDataUrl(made.url));
  }
  for (const auto& [output, url] : outputs_) {
    DataOutput& made = work.outputs.emplace_back(output);
    TIDEMILL_TRY(made.url, writer.Write(url));
    TIDEMILL_TRY_VOID(CheckDataUrl(made.url));
  }
  return work;
}

}  // namespace tidemill
