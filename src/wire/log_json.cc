// SPDX-License-Identifier: Apache-2.0
#include "wire/log_json.h"

#include <charconv>
#include <limits>
#include <utility>

#include "base/bytes.h"
#include "wire/json.h"

namespace tidemill {
namespace {

using json::Fields;
using json::Value;

constexpr std::size_t kPartsMost = 1'000'000;
constexpr std::size_t kCursorBytes = 4096;
// As many as a page has, and room for one long part.
constexpr std::size_t kLogTextBytes = 64 << 20;

// False: JSON cannot carry it as text.
bool IsUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned char first = byte(i);
    std::size_t more = 0;
    std::uint32_t code = first;
    if (first >= 0xf0 && first < 0xf8) {
      more = 3;
      code = first & 0x07u;
    } else if (first >= 0xe0 && first < 0xf0) {
      more = 2;
      code = first & 0x0fu;
    } else if (first >= 0xc0 && first < 0xe0) {
      more = 1;
      code = first & 0x1fu;
    } else if (first >= 0x80) {
      return false;
    }
    if (i + more >= text.size()) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xc0u) != 0x80u) return false;
      code = code << 6 | (byte(i + k) & 0x3fu);
    }
    constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (code < kLeast[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += more + 1;
  }
  return true;
}

void AppendPart(std::string& out, const LogPageDoc::Part& part) {
  out.push_back('{');
  json::AppendNumber(out, "time_ms", part.time_ms);
  if (part.missing_bytes > 0) json::AppendNumber(out, "missing_bytes", part.missing_bytes);
  if (part.over_limit) json::AppendFlag(out, "over_limit", true);
  if (part.lost_before) json::AppendFlag(out, "lost_before", true);
  if (IsUtf8(part.text)) {
    json::AppendText(out, "text", part.text);
  } else {
    json::AppendText(out, "base64", EncodeBase64(part.text));
  }
  out.push_back('}');
}

Result<LogPageDoc::Part> ReadPart(const Fields& fields) {
  LogPageDoc::Part part;
  TIDEMILL_TRY(part.time_ms, fields.Int("time_ms", {}));
  TIDEMILL_TRY(part.missing_bytes, fields.Int("missing_bytes", {.absent = 0}));
  TIDEMILL_TRY(part.over_limit, fields.Flag("over_limit", false));
  TIDEMILL_TRY(part.lost_before, fields.Flag("lost_before", false));
  if (fields.Find("base64") != nullptr) {
    TIDEMILL_TRY(part.text, fields.Bytes("base64", kLogTextBytes));
    return part;
  }
  const Value* text = fields.Find("text");
  if (text == nullptr || !text->is_string()) return json::Wrong(fields.In("text"), "not a text");
  part.text = text->get<std::string>();
  return part;
}

Result<std::int32_t> ReadInt32(const Fields& fields, std::string_view name) {
  TIDEMILL_TRY(const std::int64_t number, fields.Int(name, {.most = json::kMaxInt32, .absent = 0}));
  return static_cast<std::int32_t>(number);
}

template <typename Number>
bool TakeNumber(std::string_view& text, Number& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}

bool TakeDot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string FormatLogPage(const LogPageDoc& page) {
  std::string out = "{";
  json::AppendNumber(out, "item", page.item);
  json::AppendText(out, "state", ItemStateName(page.state));
  if (page.found) {
    json::AppendNumber(out, "round", page.round);
    json::AppendNumber(out, "attempt", page.attempt);
    json::AppendText(out, "next", page.next);
  }
  std::string parts = "[";
  for (const LogPageDoc::Part& part : page.parts) {
    if (parts.size() > 1) parts.push_back(',');
    AppendPart(parts, part);
  }
  json::AppendValue(out, "parts", parts.append("]"));
  json::AppendFlag(out, "more", page.more);
  json::AppendFlag(out, "ended", page.ended);
  json::AppendFlag(out, "awaited", page.awaited);
  json::AppendNumber(out, "fetched_bytes", page.fetched_bytes);
  return out.append("}");
}

Result<LogPageDoc> ParseLogPage(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  LogPageDoc page;
  TIDEMILL_TRY(page.item, fields.Int("item", {}));
  TIDEMILL_TRY(const std::string_view state, fields.Text("state", {.most_bytes = 32}));
  const auto known = ParseItemState(state);
  if (!known) return json::Wrong(fields.In("state"), "is not a state that is known here");
  page.state = *known;
  page.found = fields.Find("next") != nullptr;
  TIDEMILL_TRY(page.round, ReadInt32(fields, "round"));
  TIDEMILL_TRY(page.attempt, ReadInt32(fields, "attempt"));
  TIDEMILL_TRY(page.next, fields.Text("next", {.most_bytes = json::kNextBytes, .absent = ""}));
  TIDEMILL_TRY_VOID(
      json::ReadEach(fields, "parts", kPartsMost, [&](const Fields& element) -> Result<void> {
        TIDEMILL_TRY(LogPageDoc::Part part, ReadPart(element));
        page.parts.push_back(std::move(part));
        return {};
      }));
  TIDEMILL_TRY(page.more, fields.Flag("more", false));
  TIDEMILL_TRY(page.ended, fields.Flag("ended", false));
  TIDEMILL_TRY(page.awaited, fields.Flag("awaited", false));
  TIDEMILL_TRY(page.fetched_bytes, fields.Int("fetched_bytes", {.absent = 0}));
  return page;
}

std::string FormatLogNext(const LogNext& next) {
  return std::to_string(next.round) + "." + std::to_string(next.attempt) + "." +
         std::to_string(next.parts);
}

Result<LogNext> ParseLogNext(std::string_view text) {
  LogNext next;
  std::int64_t parts = 0;
  if (!TakeNumber(text, next.round) || !TakeDot(text) || !TakeNumber(text, next.attempt) ||
      !TakeDot(text) || !TakeNumber(text, parts) || !text.empty()) {
    return Fail(Code::kInvalid, "must be the 'next' of the page before");
  }
  next.parts = static_cast<std::uint64_t>(parts);
  return next;
}

std::string FormatLogHits(const LogHitsDoc& page) {
  std::string out = "{";
  std::string hits = "[";
  for (const LogHitsDoc::Hit& hit : page.hits) {
    if (hits.size() > 1) hits.push_back(',');
    hits.push_back('{');
    json::AppendNumber(hits, "item", hit.item);
    json::AppendNumber(hits, "round", hit.round);
    json::AppendNumber(hits, "attempt", hit.attempt);
    json::AppendNumber(hits, "time_ms", hit.time_ms);
    json::AppendText(hits, "line", hit.line);
    hits.push_back('}');
  }
  json::AppendValue(out, "hits", hits.append("]"));
  if (!page.next.empty()) json::AppendText(out, "next", page.next);
  json::AppendNumber(out, "packs", page.packs);
  json::AppendNumber(out, "logs", page.logs);
  json::AppendNumber(out, "text_bytes", page.text_bytes);
  json::AppendNumber(out, "damaged_packs", page.damaged_packs);
  json::AppendNumber(out, "fetched_bytes", page.fetched_bytes);
  return out.append("}");
}

Result<LogHitsDoc> ParseLogHits(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const Fields fields, Fields::Of(value, {}));
  LogHitsDoc page;
  TIDEMILL_TRY_VOID(
      json::ReadEach(fields, "hits", kPartsMost, [&](const Fields& element) -> Result<void> {
        LogHitsDoc::Hit& hit = page.hits.emplace_back();
        TIDEMILL_TRY(hit.item, element.Int("item", {}));
        TIDEMILL_TRY(hit.round, ReadInt32(element, "round"));
        TIDEMILL_TRY(hit.attempt, ReadInt32(element, "attempt"));
        TIDEMILL_TRY(hit.time_ms, element.Int("time_ms", {.absent = 0}));
        const Value* line = element.Find("line");
        if (line == nullptr || !line->is_string()) {
          return json::Wrong(element.In("line"), "not a text");
        }
        hit.line = line->get<std::string>();
        return {};
      }));
  TIDEMILL_TRY(page.next, fields.Text("next", {.most_bytes = kCursorBytes, .absent = ""}));
  TIDEMILL_TRY(page.packs, fields.Int("packs", {.absent = 0}));
  TIDEMILL_TRY(page.logs, fields.Int("logs", {.absent = 0}));
  TIDEMILL_TRY(page.text_bytes, fields.Int("text_bytes", {.absent = 0}));
  TIDEMILL_TRY(page.damaged_packs, fields.Int("damaged_packs", {.absent = 0}));
  TIDEMILL_TRY(page.fetched_bytes, fields.Int("fetched_bytes", {.absent = 0}));
  return page;
}

}  // namespace tidemill
