// SPDX-License-Identifier: Apache-2.0
#include "wire/history_json.h"

#include "wire/json.h"
#include "wire/time.h"

namespace tidemill {

std::string FormatHistory(const HistoryFacts& facts) {
  std::string out = "{";
  json::AppendValue(out, "job", facts.job);
  json::AppendNumber(out, "attempts", facts.attempts);
  json::AppendNumber(out, "succeeded", facts.succeeded);
  json::AppendNumber(out, "failed", facts.failed);
  if (facts.first_ms > 0) {
    json::AppendText(out, "began_at", FormatTime(facts.first_ms));
    json::AppendText(out, "ended_at", FormatTime(facts.last_ms));
  }
  json::AppendNumber(out, "cpu_ms", facts.cpu_ms);
  json::AppendValue(out, "failures", facts.failures);
  return out.append("}");
}

}  // namespace tidemill
