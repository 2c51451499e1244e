// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "wire/tree.h"

namespace tidemill {

// What Compute answers, as far as it is needed; the rest is passed over, as it grows. Pure. Times
// are microseconds since 1970.

// "2026-05-01T05:03:44.123-07:00", or with a Z.
std::optional<TimePoint> ParseGoogleTime(std::string_view text);

// What Google could not do, in its words.
struct GcpFault {
  std::string code = {};
  std::string message = {};
};
bool IsQuotaFault(const GcpFault& fault);
std::string FaultWords(const GcpFault& fault);

struct GcpOperation {
  std::string name = {};
  std::string type = {};
  std::string target = {};  // the last part of its URL
  bool done = false;
  std::vector<GcpFault> faults = {};
  TimePoint begun{};
  TimePoint ended{};
};
Result<GcpOperation> ParseOperation(const Tree& tree);
// What a failed operation means for whoever asked for it; success if it did not fail.
Result<void> OperationResult(const GcpOperation& operation);

// An instance as its group has it; it may not be there yet, or not any more.
struct ManagedInstance {
  std::string name = {};
  std::string action = {};             // "NONE", "CREATING", "DELETING", ...
  std::string status = {};             // of the instance; empty if there is none
  std::optional<GcpFault> fault = {};  // of the last attempt to do it
};
Result<ManagedInstance> ParseManaged(const Tree& tree);

struct GcpInstance {
  std::string name = {};
  std::string status = {};
  TimePoint since{};
  std::optional<TimePoint> stopped = {};
};
Result<GcpInstance> ParseInstance(const Tree& tree);

// An answer of Compute that is no success. Reasons of Google's are told apart where a status has
// several meanings.
Error ErrorOf(int status, std::string_view body);

// Fields of an answer, which must outlive them; empty or null if they are not there.
const Tree* FieldOf(const Tree& tree, std::string_view name);
const Tree* FieldOf(Tree&& tree, std::string_view name) = delete;
const Tree::List& ListField(const Tree& tree, std::string_view name);
const Tree::List& ListField(Tree&& tree, std::string_view name) = delete;
std::string TextField(const Tree& tree, std::string_view name);
// "spot-1" of ".../instances/spot-1".
std::string LastPart(std::string_view url);

}  // namespace tidemill
