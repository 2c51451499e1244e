// SPDX-License-Identifier: Apache-2.0
#include "wire/data_json.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "model/template.h"
#include "wire/spec_value.h"

namespace tidemill::json {
namespace {

// Each is a file to fetch or to store, for every item.
constexpr std::size_t kDataMost = 32;

using Urls = std::map<std::string, std::string>;

Result<std::string> UrlOf(const Value& value, const Path& path) {
  if (!value.is_string()) return Wrong(path, "must be a URL such as \"s3://bucket/{item}\"");
  const std::string& url = value.get_ref<const std::string&>();
  if (url.empty() || url.size() > limits::kUrlBytes) {
    return Wrong(path, "must be a URL of 1 to " + std::to_string(limits::kUrlBytes) + " bytes");
  }
  return url;
}

// A URL, or several by their names; a single one has an empty name.
Result<Urls> ReadUrls(const Fields& spec, std::string_view field) {
  const Value* value = spec.Find(field);
  if (value == nullptr) return Urls();
  const Path in_field = spec.In(field);
  if (!value->is_object()) {
    TIDEMILL_TRY(std::string url, UrlOf(*value, in_field));
    return Urls{{"", std::move(url)}};
  }
  if (value->empty() || value->size() > kDataMost) {
    return Wrong(in_field, "must have 1 to " + std::to_string(kDataMost) + " names");
  }
  Urls urls;
  for (const auto& [name, one] : value->get_ref<const Value::object_t&>()) {
    if (name.size() > limits::kNameBytes || !IsVariable(name)) {
      return Wrong(in_field, Quoted(name.substr(0, limits::kNameBytes)) +
                                 " is no name here; they are letters, digits and '_'");
    }
    TIDEMILL_TRY(urls[name], UrlOf(one, Path{&in_field, name, 0}));
  }
  return urls;
}

// What an attempt leaves must have the same name in the next one.
Result<void> CheckUrl(std::string_view url, const RunSpec& run, const Path& path) {
  for (const TemplatePiece& piece : ParseTemplate(url)) {
    using Kind = TemplatePiece::Kind;
    if (piece.kind == Kind::kUnknown || piece.kind == Kind::kInput || piece.kind == Kind::kOutput ||
        piece.kind == Kind::kAttempt) {
      return Wrong(path, "may have {item}, {item.FIELD}, {index}, {job} and {params.NAME} only");
    }
    if (piece.kind == Kind::kParam && !run.params.contains(piece.text)) {
      return Wrong(path, "'{params." + piece.text + "}': unknown param '" + piece.text + "'");
    }
  }
  return {};
}

// The place of an output is the spec's word: an item may choose a name, not a bucket.
Result<void> CheckOutputUrl(std::string_view url, const Path& path) {
  const std::size_t bucket = url.find("://") + 3;
  const std::size_t slash = IsDataUrl(url) ? url.find('/', bucket) : url.npos;
  const bool has_bucket = slash > bucket || url.starts_with("file:");
  if (slash == url.npos || !has_bucket || url.substr(0, slash).find('{') != url.npos) {
    return Wrong(path, "must begin with s3://BUCKET/, gs://BUCKET/ or file:///");
  }
  if (slash + 1 == url.size()) return Wrong(path, "must name something in its bucket");
  return {};
}

DataOutput OutputOf(std::string name, std::string url) {
  DataOutput output{.name = std::move(name), .url = std::move(url), .glob = {}};
  const std::string last = output.url.substr(output.url.rfind('/') + 1);
  if (last.empty()) {
    output.kind = DataOutput::Kind::kFolder;
  } else if (last.find_first_of("*?") != last.npos) {
    output.kind = DataOutput::Kind::kGlob;
    output.glob = last;
    output.url.resize(output.url.size() - last.size());
  }
  return output;
}

Result<OutputExists> ReadExists(const Fields& spec) {
  TIDEMILL_TRY(const std::string_view word,
               spec.Text("output_exists", {.most_bytes = limits::kNameBytes, .absent = "fail"}));
  if (word == "fail") return OutputExists::kFail;
  if (word == "replace") return OutputExists::kReplace;
  if (word == "skip") return OutputExists::kSkip;
  return Wrong(spec.In("output_exists"), "must be \"fail\", \"replace\" or \"skip\"");
}

}  // namespace

bool IsDataUrl(std::string_view text) {
  return text.starts_with("s3://") || text.starts_with("gs://") || text.starts_with("file:///");
}

Result<void> ReadData(const Fields& spec, RunSpec& run) {
  TIDEMILL_TRY(Urls inputs, ReadUrls(spec, "input"));
  TIDEMILL_TRY(Urls outputs, ReadUrls(spec, "output"));
  const Path in_input = spec.In("input");
  for (auto& [name, url] : inputs) {
    const Path path = name.empty() ? in_input : Path{&in_input, name, 0};
    TIDEMILL_TRY_VOID(CheckUrl(url, run, path));
    if (!IsDataUrl(url) && !url.starts_with('{')) {
      return Wrong(path, "must begin with s3://, gs:// or file:///, or be \"{item}\"");
    }
    run.inputs.push_back({name, std::move(url)});
  }
  const Path in_output = spec.In("output");
  for (auto& [name, url] : outputs) {
    const Path path = name.empty() ? in_output : Path{&in_output, name, 0};
    TIDEMILL_TRY_VOID(CheckUrl(url, run, path));
    TIDEMILL_TRY_VOID(CheckOutputUrl(url, path));
    run.outputs.push_back(OutputOf(name, std::move(url)));
  }
  TIDEMILL_TRY(run.output_exists, ReadExists(spec));
  TIDEMILL_TRY(const std::string_view skip,
               spec.Text("skip", {.most_bytes = limits::kNameBytes, .absent = ""}));
  if (!skip.empty() && skip != "existing") return Wrong(spec.In("skip"), "must be \"existing\"");
  run.skip_existing = !skip.empty();
  if (run.outputs.empty() && (run.skip_existing || spec.Find("output_exists") != nullptr)) {
    return Wrong(spec.In(run.skip_existing ? "skip" : "output_exists"), "there is no 'output'");
  }
  return {};
}

}  // namespace tidemill::json
