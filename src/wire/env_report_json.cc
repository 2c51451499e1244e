// SPDX-License-Identifier: Apache-2.0
#include "wire/env_report_json.h"

#include "wire/json.h"

namespace tidemill {
namespace {

using json::Fields;

constexpr std::size_t kTextBytes = 1000;
constexpr std::size_t kFrameworksMost = 100;
constexpr std::size_t kDevicesMost = 10'000;

// Names that others made, which become lines on a terminal.
bool IsLine(const std::string& text) {
  return text.size() <= kTextBytes && text.find_first_of("\n\r\x1b") == std::string::npos;
}

Result<std::vector<std::string>> ReadNames(const Fields& fields, std::string_view name) {
  return json::ReadStrings(fields, name, kDevicesMost, IsLine, "must be names of one line");
}

Result<EnvFramework> ReadFramework(const Fields& fields) {
  EnvFramework read;
  TIDEMILL_TRY(read.name, fields.Text("name", {.most_bytes = kTextBytes}));
  TIDEMILL_TRY(read.version, fields.Text("version", {.most_bytes = kTextBytes, .absent = ""}));
  TIDEMILL_TRY(read.devices, ReadNames(fields, "devices"));
  TIDEMILL_TRY(read.why, fields.Text("why", {.most_bytes = kTextBytes, .absent = ""}));
  return read;
}

std::string FormatFramework(const EnvFramework& framework) {
  std::string out = "{";
  json::AppendText(out, "name", framework.name);
  json::AppendText(out, "version", framework.version);
  json::AppendStrings(out, "devices", framework.devices);
  json::AppendText(out, "why", framework.why);
  return out.append("}");
}

}  // namespace

Result<EnvReport> ParseEnvReport(std::string_view text) {
  TIDEMILL_TRY(const json::Value value, json::Parse(text));
  const json::Path path;
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, path));
  EnvReport report;
  TIDEMILL_TRY(report.python, fields.Text("python", {.most_bytes = kTextBytes}));
  TIDEMILL_TRY_VOID(json::ReadEach(fields, "frameworks", kFrameworksMost,
                                   [&report](const Fields& each) -> Result<void> {
                                     TIDEMILL_TRY(EnvFramework read, ReadFramework(each));
                                     report.frameworks.push_back(std::move(read));
                                     return {};
                                   }));
  TIDEMILL_TRY(report.nodes, ReadNames(fields, "nodes"));
  return report;
}

std::string FormatEnvReport(const std::string& image, const EnvReport& report,
                            const std::vector<std::string>& unseen) {
  std::string frameworks = "[";
  for (const EnvFramework& each : report.frameworks) {
    if (frameworks.size() > 1) frameworks += ",";
    frameworks += FormatFramework(each);
  }
  std::string out = "{";
  json::AppendText(out, "image", image);
  json::AppendText(out, "python", report.python);
  json::AppendValue(out, "frameworks", frameworks + "]");
  json::AppendStrings(out, "nodes", report.nodes);
  json::AppendStrings(out, "unseen", unseen);
  return out.append("}");
}

}  // namespace tidemill
