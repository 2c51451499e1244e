// SPDX-License-Identifier: Apache-2.0
#include "cli/env_report.h"

#include <algorithm>

#include "cli/env_work.h"
#include "cli/table.h"
#include "wire/env_report_json.h"

namespace tidemill::cli {
namespace {

std::string CommaList(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool IsBroken(const EnvFramework& framework) { return framework.version.empty(); }

Cell DevicesOf(const EnvFramework& framework) {
  if (IsBroken(framework)) return {"cannot be imported: " + framework.why, Colour::kRed};
  if (!framework.devices.empty()) return {CommaList(framework.devices), Colour::kGreen};
  return framework.why.empty() ? "none" : "none: " + framework.why;
}

void ShowTable(const Console& console, const std::string& image, const EnvReport& report) {
  console.Line("python " + report.python + " in " + image);
  if (!report.nodes.empty()) console.Line("devices " + CommaList(report.nodes));
  if (report.frameworks.empty()) {
    console.Line("No framework is installed that this command knows");
    return;
  }
  std::vector<std::vector<Cell>> rows;
  for (const EnvFramework& each : report.frameworks) {
    rows.push_back({each.name, IsBroken(each) ? "-" : each.version, DevicesOf(each)});
  }
  console.out(
      FormatTable({{"FRAMEWORK"}, {"VERSION"}, {"SEES"}}, rows, console.columns, console.colours));
}

}  // namespace

int ShowEnvReport(const Console& console, const std::string& image, const EnvReport& report,
                  const std::vector<std::string>& asked) {
  std::vector<std::string> unseen;
  for (const std::string& device : asked) {
    if (!SeesDevice(report, device)) unseen.push_back(device);
  }
  if (console.json) {
    console.Line(FormatEnvReport(image, report, unseen));
  } else if (!console.quiet) {
    ShowTable(console, image, report);
  }
  if (!unseen.empty()) {
    if (!console.json) console.ErrLine("not seen: " + CommaList(unseen));
    return kNoDevice;
  }
  return std::any_of(report.frameworks.begin(), report.frameworks.end(), IsBroken) ? kFailed
                                                                                   : kDone;
}

}  // namespace tidemill::cli
