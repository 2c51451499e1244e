// SPDX-License-Identifier: Apache-2.0
#include "wire/notify_json.h"

#include <limits>
#include <utility>

#include "base/limits.h"
#include "wire/json.h"
#include "wire/one_line.h"
#include "wire/settings_json.h"
#include "wire/spec_notify.h"
#include "wire/time.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Path;
using json::Value;

// Of an answer that is larger than any of ours nothing is read.
constexpr std::size_t kMaxNoticeRows = 10'000;
constexpr std::size_t kNoticeTimeBytes = 64;
// What is not UTF-8 grows to three bytes on the way.
constexpr std::size_t kErrorBytes = 3 * limits::kReasonBytes;

std::string CountsText(const Counts& counts) {
  std::string out = "{";
  json::AppendNumber(out, "total", counts.total);
  json::AppendNumber(out, "succeeded", counts.succeeded);
  json::AppendNumber(out, "failed", counts.failed);
  json::AppendNumber(out, "running", counts.running);
  json::AppendNumber(out, "waiting", counts.waiting);
  json::AppendNumber(out, "cancelled", counts.cancelled);
  return out + "}";
}

std::string FormatOne(const Notification& one) {
  std::string out = "{";
  json::AppendText(out, "id", ToString(one.id));
  json::AppendText(out, "event", JobEventName(one.event));
  json::AppendNumber(out, "round", one.round);
  json::AppendText(out, "url", one.url);
  json::AppendText(out, "state", NotificationStateName(one.state));
  json::AppendNumber(out, "tries", one.tries);
  if (!one.error.empty()) json::AppendText(out, "error", OneLine(one.error));
  json::AppendText(out, "at", FormatTime(one.created_ms));
  if (one.state == NotificationState::kDue) {
    json::AppendText(out, "next_try_at", FormatTime(one.due_ms));
  }
  if (one.delivered_ms != 0) json::AppendText(out, "delivered_at", FormatTime(one.delivered_ms));
  return out + "}";
}

Result<std::int64_t> ReadWhen(const Fields& fields, std::string_view name) {
  TIDEMILL_TRY(const std::string_view text,
               fields.Text(name, {.most_bytes = kNoticeTimeBytes, .absent = ""}));
  return ParseTime(text).value_or(0);
}

Result<Notification> ReadOne(const Fields& fields) {
  Notification one;
  TIDEMILL_TRY(one.id, fields.Id<NotificationId>("id"));
  TIDEMILL_TRY(const std::string_view event,
               fields.Text("event", {.most_bytes = limits::kNameBytes}));
  TIDEMILL_TRY(const std::string_view state,
               fields.Text("state", {.most_bytes = limits::kNameBytes}));
  if (!ParseJobEvent(event)) return json::Wrong(fields.In("event"), "is not known here");
  if (!ParseNotificationState(state)) return json::Wrong(fields.In("state"), "is not known here");
  one.event = *ParseJobEvent(event);
  one.state = *ParseNotificationState(state);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  TIDEMILL_TRY(const std::int64_t round, fields.Int("round", {.most = kMost}));
  TIDEMILL_TRY(const std::int64_t tries, fields.Int("tries", {.most = kMost}));
  one.round = static_cast<std::int32_t>(round);
  one.tries = static_cast<std::int32_t>(tries);
  TIDEMILL_TRY(one.url, fields.Text("url", {.most_bytes = limits::kUrlBytes}));
  TIDEMILL_TRY(one.error, fields.Text("error", {.most_bytes = kErrorBytes, .absent = ""}));
  TIDEMILL_TRY(one.created_ms, ReadWhen(fields, "at"));
  TIDEMILL_TRY(one.due_ms, ReadWhen(fields, "next_try_at"));
  TIDEMILL_TRY(one.delivered_ms, ReadWhen(fields, "delivered_at"));
  return one;
}

}  // namespace

Result<std::vector<NotifyTarget>> ParseNotify(std::string_view document) {
  TIDEMILL_TRY(const Value value, json::Parse(document));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  return json::ReadNotify(fields);
}

std::string FormatJobNews(const JobNews& news) {
  const Job& job = news.job.job;
  std::string out = "{";
  json::AppendText(out, "event", JobEventName(news.event));
  json::AppendText(out, "id", ToString(news.id));
  json::AppendText(out, "job", PublicId(job));
  json::AppendText(out, "name", job.spec.name);
  json::AppendText(out, "project", job.project);
  json::AppendText(out, "state", JobStateName(job.state));
  json::AppendNumber(out, "round", job.round);
  json::AppendValue(out, "counts", CountsText(news.job.counts));
  if (news.spent) json::AppendValue(out, "cost", DollarsText(*news.spent));
  if (!job.reason.empty()) json::AppendText(out, "reason", job.reason);
  json::AppendText(out, "at", FormatTime(news.at_ms));
  return out + "}";
}

std::string FormatNotifications(const std::vector<Notification>& all) {
  std::string list = "[";
  for (const Notification& one : all) {
    list.append(list.size() > 1 ? "," : "").append(FormatOne(one));
  }
  return "{\"notifications\":" + list + "]}";
}

Result<std::vector<Notification>> ParseNotifications(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  std::vector<Notification> all;
  TIDEMILL_TRY_VOID(json::ReadEach(fields, "notifications", kMaxNoticeRows,
                                   [&](const Fields& row) -> Result<void> {
                                     TIDEMILL_TRY(Notification one, ReadOne(row));
                                     all.push_back(std::move(one));
                                     return {};
                                   }));
  return all;
}

}  // namespace tidemill
