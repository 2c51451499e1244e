// SPDX-License-Identifier: Apache-2.0
#include "item/command.h"

#include <algorithm>

#include "item/text_writer.h"

namespace tidemill {
namespace {

using Kind = TemplatePiece::Kind;
using Pieces = TemplatePieces;

Result<std::optional<std::vector<Pieces>>> PrepareList(
    const std::optional<std::vector<std::string>>& list, const RunSpec& spec) {
  if (!list) return std::nullopt;
  std::vector<Pieces> prepared;
  for (const std::string& text : *list) {
    TIDEMILL_TRY(Pieces pieces, PrepareText(text, spec));
    prepared.push_back(std::move(pieces));
  }
  return prepared;
}

bool IsOfAnItem(const Pieces& pieces) {
  return std::any_of(pieces.begin(), pieces.end(),
                     [](const TemplatePiece& piece) { return IsOfOneItem(piece.kind); });
}

// The one without a name is $TIDEMILL_INPUT, one of the name `mask` is $TIDEMILL_INPUT_MASK.
Result<void> SetPaths(std::string_view word, const std::map<std::string, std::string>& paths,
                      TextWriter& writer, std::vector<std::string>& env) {
  for (const auto& [name, path] : paths) {
    std::string variable = "TIDEMILL_" + std::string(word);
    if (!name.empty()) variable += "_";
    for (const char c : name) {
      variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    TIDEMILL_TRY_VOID(writer.Set(variable, path, env));
  }
  return {};
}

}  // namespace

Result<CommandPlan> CommandPlan::Of(const RunSpec& spec) {
  CommandPlan plan;
  TIDEMILL_TRY(plan.entrypoint_, PrepareList(spec.entrypoint, spec));
  TIDEMILL_TRY(plan.command_, PrepareList(spec.command, spec));
  for (const auto& [name, value] : spec.env) {
    TIDEMILL_TRY(Pieces pieces, PrepareText(value, spec, {{Kind::kText, name + "="}}));
    plan.env_.push_back(std::move(pieces));
  }
  return plan;
}

Result<ItemCommand> CommandPlan::For(const ItemFacts& facts, const FieldReader& read_field) const {
  if (facts.text.find('\0') != std::string::npos) {
    return Fail(Code::kInvalid, "the item has a NUL, which no program can be given");
  }
  TextWriter writer(facts, read_field);
  ItemCommand run;
  TIDEMILL_TRY_VOID(writer.Write(entrypoint_, run.entrypoint));
  TIDEMILL_TRY_VOID(writer.Write(command_, run.command));
  constexpr std::size_t kOurs = 5;
  run.env.reserve(env_.size() + kOurs);
  for (const Pieces& pieces : env_) {
    TIDEMILL_TRY(std::string variable, writer.Write(pieces));
    run.env.push_back(std::move(variable));
  }
  TIDEMILL_TRY_VOID(writer.Set("TIDEMILL_ITEM", writer.text(), run.env));
  TIDEMILL_TRY_VOID(writer.Set("TIDEMILL_INDEX", writer.index(), run.env));
  TIDEMILL_TRY_VOID(writer.Set("TIDEMILL_COUNT", std::to_string(facts.count), run.env));
  TIDEMILL_TRY_VOID(writer.Set("TIDEMILL_JOB", facts.job, run.env));
  TIDEMILL_TRY_VOID(writer.Set("TIDEMILL_ATTEMPT", std::to_string(facts.attempt), run.env));
  TIDEMILL_TRY_VOID(SetPaths("INPUT", facts.inputs, writer, run.env));
  TIDEMILL_TRY_VOID(SetPaths("OUTPUT", facts.outputs, writer, run.env));
  if (!facts.checkpoint.empty()) {
    TIDEMILL_TRY_VOID(writer.Set("TIDEMILL_CHECKPOINT", facts.checkpoint, run.env));
  }
  return run;
}

bool CommandPlan::SpeaksOfAnItem() const {
  const auto in = [](const std::vector<Pieces>& list) {
    return std::any_of(list.begin(), list.end(), IsOfAnItem);
  };
  return in(env_) || (entrypoint_ && in(*entrypoint_)) || (command_ && in(*command_));
}

Result<ItemCommand> CommandPlan::ForLoop(const std::string& job, std::int64_t count) const {
  if (SpeaksOfAnItem()) {
    return Fail(Code::kInvalid,
                "a loop program gets its items from $TIDEMILL_URL, not by templates");
  }
  ItemFacts facts;
  facts.count = count;
  facts.job = job;
  const FieldReader no_fields = [](std::string_view, std::string_view) -> Result<std::string> {
    return Fail(Code::kInternal, "there is no item");
  };
  TextWriter writer(facts, no_fields);
  ItemCommand run;
  TIDEMILL_TRY_VOID(writer.Write(entrypoint_, run.entrypoint));
  TIDEMILL_TRY_VOID(writer.Write(command_, run.command));
  for (const Pieces& pieces : env_) {
    TIDEMILL_TRY(std::string variable, writer.Write(pieces));
    run.env.push_back(std::move(variable));
  }
  TIDEMILL_TRY_VOID(writer.Set("TIDEMILL_COUNT", std::to_string(count), run.env));
  TIDEMILL_TRY_VOID(writer.Set("TIDEMILL_JOB", job, run.env));
  return run;
}

}  // namespace tidemill
