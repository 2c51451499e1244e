// SPDX-License-Identifier: Apache-2.0
#include "wire/oci_json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "wire/json.h"
#include "wire/time.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Value;

constexpr std::size_t kOciPathBytes = 4096;

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Finds annotations and the process's environment, and passes over all else.
class AskReader : public nlohmann::json_sax<Value> {
 public:
  explicit AskReader(AskedBy by) : by_(by) {}

  std::string why = {};

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t& value) override {
    if (depth_ == 2 && field_[0] == "annotations" && field_[1].starts_with(kCdiAnnotation)) {
      annotations_.push_back(std::move(value));
    } else if (depth_ == 3 && field_[0] == "process" && field_[1] == "env") {
      ReadVariable(value);
    }
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(); }
  bool start_array(std::size_t) override { return Open(); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    if (depth_ <= field_.size()) field_[depth_ - 1] = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    why = "not JSON: it goes wrong at byte " + std::to_string(position);
    return false;
  }

  Result<OciAsks> Asks() const {
    OciAsks asks;
    for (const std::string& list : annotations_) TIDEMILL_TRY_VOID(Add(list, asks));
    if (variable_) TIDEMILL_TRY_VOID(Add(*variable_, asks));
    asks.asks = variable_ || !asks.devices.empty();
    return asks;
  }

 private:
  bool Open() {
    ++depth_;
    return true;
  }
  bool Close() {
    --depth_;
    return true;
  }

  void ReadVariable(std::string_view text) {
    if (by_ == AskedBy::kAnnotations || !text.starts_with(kCdiVariable)) return;
    text.remove_prefix(kCdiVariable.size());
    // The last of several is what the process would see.
    if (text.starts_with('=')) variable_ = text.substr(1);
  }

  static Result<void> Add(std::string_view list, OciAsks& asks) {
    while (!list.empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      const std::string name(Trimmed(list.substr(0, comma)));
      list.remove_prefix(std::min(comma + 1, list.size()));
      const auto& devices = asks.devices;
      if (name.empty() || std::find(devices.begin(), devices.end(), name) != devices.end())
        continue;
      if (devices.size() == kMostAskedDevices) {
        return Fail(Code::kInvalid,
                    "more than " + std::to_string(kMostAskedDevices) + " devices are asked for");
      }
      asks.devices.push_back(name);
    }
    return {};
  }

  const AskedBy by_;
  std::size_t depth_ = 0;
  std::array<std::string, 2> field_;  // that we are in, of the first and of the second depth
  std::vector<std::string> annotations_;
  std::optional<std::string> variable_;
};

}  // namespace

Result<OciAsks> ParseOciAsks(std::string_view config, AskedBy by) {
  AskReader reader(by);
  if (!Value::sax_parse(config.begin(), config.end(), &reader)) {
    return Fail(Code::kInvalid, std::move(reader.why));
  }
  return reader.Asks();
}

Result<std::string> ParseOciRoot(std::string_view config) {
  TIDEMILL_TRY(const Value value, json::Parse(config));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  const Value* const root = fields.Find("root");
  if (root == nullptr) return json::Wrong(fields.In("root"), "is missing");
  TIDEMILL_TRY(const Fields root_fields, Fields::Of(*root, fields.In("root")));
  TIDEMILL_TRY(const std::string_view path,
               root_fields.Text("path", {.most_bytes = kOciPathBytes}));
  return std::string(path);
}

Result<std::string> ParseOciStateBundle(std::string_view state) {
  TIDEMILL_TRY(const Value value, json::Parse(state));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  TIDEMILL_TRY(const std::string_view path, fields.Text("bundle", {.most_bytes = kOciPathBytes}));
  return std::string(path);
}

std::string FormatOciLogLine(std::string_view level, std::string_view message, std::int64_t now_ms,
                             bool json) {
  if (json) {
    std::string out = "{";
    json::AppendText(out, "level", level);
    json::AppendText(out, "msg", message);
    json::AppendText(out, "time", FormatTime(now_ms));
    return out + "}\n";
  }
  std::string out = "time=" + json::Quoted(FormatTime(now_ms));
  out.append(" level=").append(level).append(" msg=").append(json::Quoted(message));
  return out + "\n";
}

}  // namespace tidemill
