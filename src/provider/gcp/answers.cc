// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/answers.h"

#include <charconv>
#include <chrono>

#include "wire/cloud_json.h"

namespace tidemill {
namespace {

constexpr std::string_view kNoRoom = "ZONE_RESOURCE_POOL_EXHAUSTED";  // also ..._WITH_DETAILS
constexpr std::string_view kNoQuota = "QUOTA_EXCEEDED";

std::optional<std::int64_t> TwoDigits(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 2, number);
  if (error != std::errc{} || end != text.data() + 2) return std::nullopt;
  return number;
}

std::vector<GcpFault> FaultsOf(const Tree& holder, std::string_view name) {
  std::vector<GcpFault> faults;
  const Tree* error = FieldOf(holder, name);
  if (error == nullptr) return faults;
  for (const Tree& one : ListField(*error, "errors")) {
    faults.push_back({TextField(one, "code"), TextField(one, "message")});
  }
  return faults;
}

Code CodeOf(const GcpFault& fault) {
  if (IsQuotaFault(fault) || fault.code.starts_with(kNoRoom)) return Code::kExhausted;
  if (fault.code == "RESOURCE_ALREADY_EXISTS") return Code::kConflict;
  if (fault.code == "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE") return Code::kConflict;
  if (fault.code == "RESOURCE_NOT_FOUND") return Code::kNotFound;
  if (fault.code == "PERMISSIONS_ERROR") return Code::kForbidden;
  if (fault.code == "INTERNAL_ERROR") return Code::kUnavailable;
  return Code::kInvalid;
}

// The word for programs: "rateLimitExceeded".
std::string ReasonOf(std::string_view body) {
  const auto tree = ParseTree(body);
  if (!tree) return "";
  const Tree* error = FieldOf(*tree, "error");
  if (error == nullptr) return "";
  const Tree::List& all = ListField(*error, "errors");
  return all.empty() ? "" : TextField(all.front(), "reason");
}

}  // namespace

const Tree* FieldOf(const Tree& tree, std::string_view name) {
  const auto* object = std::get_if<Tree::Object>(&tree.value);
  if (object == nullptr) return nullptr;
  for (const auto& [key, value] : *object) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string TextField(const Tree& tree, std::string_view name) {
  const Tree* field = FieldOf(tree, name);
  const auto* text = field == nullptr ? nullptr : std::get_if<std::string>(&field->value);
  return text == nullptr ? "" : *text;
}

const Tree::List& ListField(const Tree& tree, std::string_view name) {
  static const Tree::List none;
  const Tree* field = FieldOf(tree, name);
  const auto* list = field == nullptr ? nullptr : std::get_if<Tree::List>(&field->value);
  return list == nullptr ? none : *list;
}

std::string LastPart(std::string_view url) { return std::string(url.substr(url.rfind('/') + 1)); }

std::optional<TimePoint> ParseGoogleTime(std::string_view text) {
  constexpr std::size_t kOffset = 6;  // "-07:00"
  std::chrono::minutes ahead{0};
  std::string utc(text);
  if (!text.ends_with('Z')) {
    if (text.size() <= kOffset) return std::nullopt;
    const std::string_view offset = text.substr(text.size() - kOffset);
    const auto hours = TwoDigits(offset.substr(1));
    const auto minutes = TwoDigits(offset.substr(4));
    const bool has_sign = offset[0] == '-' || offset[0] == '+';
    if (!has_sign || offset[3] != ':' || !hours || !minutes) return std::nullopt;
    ahead = std::chrono::minutes(*hours * 60 + *minutes) * (offset[0] == '-' ? -1 : 1);
    utc = std::string(text.substr(0, text.size() - kOffset)) + "Z";
  }
  const auto ms = ParseCloudTime(utc);
  if (!ms) return std::nullopt;
  return TimePoint(std::chrono::milliseconds(*ms)) - ahead;
}

bool IsQuotaFault(const GcpFault& fault) { return fault.code == kNoQuota; }

std::string FaultWords(const GcpFault& fault) {
  return fault.message.empty() ? fault.code : fault.code + ": " + fault.message;
}

Result<GcpOperation> ParseOperation(const Tree& tree) {
  GcpOperation operation{.name = TextField(tree, "name"),
                         .type = TextField(tree, "operationType"),
                         .target = LastPart(TextField(tree, "targetLink")),
                         .done = TextField(tree, "status") == "DONE",
                         .faults = FaultsOf(tree, "error")};
  if (operation.name.empty()) return Fail(Code::kInvalid, "Google names no operation");
  const auto begun = ParseGoogleTime(TextField(tree, "insertTime"));
  operation.begun = begun.value_or(TimePoint{});
  operation.ended = ParseGoogleTime(TextField(tree, "endTime")).value_or(operation.begun);
  return operation;
}

Result<void> OperationResult(const GcpOperation& operation) {
  if (operation.faults.empty()) return {};
  const GcpFault& fault = operation.faults.front();
  return Fail(CodeOf(fault), FaultWords(fault));
}

Result<ManagedInstance> ParseManaged(const Tree& tree) {
  ManagedInstance managed{.name = LastPart(TextField(tree, "instance")),
                          .action = TextField(tree, "currentAction"),
                          .status = TextField(tree, "instanceStatus")};
  if (managed.name.empty()) return Fail(Code::kInvalid, "Google lists an instance without a name");
  if (const Tree* last = FieldOf(tree, "lastAttempt")) {
    const std::vector<GcpFault> faults = FaultsOf(*last, "errors");
    if (!faults.empty()) managed.fault = faults.front();
  }
  return managed;
}

Result<GcpInstance> ParseInstance(const Tree& tree) {
  GcpInstance instance{.name = TextField(tree, "name"), .status = TextField(tree, "status")};
  const auto since = ParseGoogleTime(TextField(tree, "creationTimestamp"));
  if (instance.name.empty() || !since) {
    return Fail(Code::kInvalid, "Google lists an instance without a name or a time");
  }
  instance.since = *since;
  instance.stopped = ParseGoogleTime(TextField(tree, "lastStopTimestamp"));
  return instance;
}

Error ErrorOf(int status, std::string_view body) {
  const std::string reason = ReasonOf(body);
  const std::string words = "Google answers " + std::to_string(status) + ", " + GoogleMessage(body);
  const auto with = [&](Code code) { return Error{code, words}; };
  const bool is_busy = reason == "rateLimitExceeded" || reason == "userRateLimitExceeded" ||
                       reason == "resourceNotReady";
  if (status == 408 || status == 429 || status >= 500 || is_busy) return with(Code::kUnavailable);
  if (reason == "quotaExceeded") return with(Code::kExhausted);
  if (reason == "resourceInUseByAnotherResource") return with(Code::kConflict);
  if (status == 401 || status == 403) return with(Code::kForbidden);
  if (status == 404) return with(Code::kNotFound);
  if (status == 409 || status == 412) return with(Code::kConflict);
  return with(Code::kInvalid);
}

}  // namespace tidemill
