// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/spec.h"
#include "model/template.h"

namespace tidemill {

// What a command may tell its program about the item.
struct ItemFacts {
  std::string text;        // empty: one of a bare range, for which its number stands
  std::int64_t index = 0;  // its number in the job
  std::int64_t count = 0;  // how many there are
  std::string job;         // "render-7"
  std::int32_t attempt = 1;
  // By name, as the item sees them.
  std::map<std::string, std::string> inputs = {};
  std::map<std::string, std::string> outputs = {};
  std::string checkpoint = {};  // the folder; empty: it has none
};

// What is run for one item.
struct ItemCommand {
  std::optional<std::vector<std::string>> entrypoint;
  std::optional<std::vector<std::string>> command;
  std::vector<std::string> env;  // NAME=value: the spec's own first, then TIDEMILL_...
  bool operator==(const ItemCommand&) const = default;
};

// Reads a field of an item that is a JSON object.
using FieldReader =
    std::function<Result<std::string>(std::string_view item, std::string_view field)>;

// Linux starts no program with a longer argument or variable.
inline constexpr std::size_t kArgumentBytes = 128 * 1024 - 1;
// All of them together; Linux takes 2 MiB, and the image's own variables need room too.
inline constexpr std::size_t kCommandBytes = 1024 * 1024;

// The command and the variables of a job, taken apart once, so that each item costs no more than
// putting them together. Constant after it was made: any thread may use it.
class CommandPlan {
 public:
  // kInvalid: a template stands for nothing.
  static Result<CommandPlan> Of(const RunSpec& spec);

  // kInvalid, with a reason for people, if this item cannot be run: it lacks a field, has a NUL, or
  // makes the command too long. Another item of the job may be fine.
  Result<ItemCommand> For(const ItemFacts& facts, const FieldReader& read_field) const;
  // The program of a loop, which is no item's. kInvalid: it speaks of one.
  Result<ItemCommand> ForLoop(const std::string& job, std::int64_t count) const;

 private:
  using Pieces = std::vector<TemplatePiece>;
  using List = std::optional<std::vector<Pieces>>;

  CommandPlan() = default;
  bool SpeaksOfAnItem() const;

  // Params have become text.
  List entrypoint_;
  List command_;
  std::vector<Pieces> env_;  // begins with NAME=
};

}  // namespace tidemill
