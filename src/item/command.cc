// SPDX-License-Identifier: Apache-2.0
#include "item/command.h"

#include <algorithm>

#include "item/path.h"

namespace tidemill {
namespace {

using Kind = TemplatePiece::Kind;
using Pieces = std::vector<TemplatePiece>;

void AddText(Pieces& pieces, const std::string& text) {
  if (!pieces.empty() && pieces.back().kind == Kind::kText) {
    pieces.back().text += text;
  } else {
    pieces.push_back({Kind::kText, text});
  }
}

// Adds the pieces of a text to those that stand before it.
Result<Pieces> Prepare(std::string_view text, const RunSpec& spec, Pieces pieces = {}) {
  for (TemplatePiece& piece : ParseTemplate(text)) {
    if (piece.kind == Kind::kUnknown) {
      return Fail(Code::kInvalid, "unknown template '{" + piece.text + "}'");
    }
    if (piece.kind == Kind::kParam) {
      const auto param = spec.params.find(piece.text);
      if (param == spec.params.end()) {
        return Fail(Code::kInvalid, "unknown param '" + piece.text + "'");
      }
      AddText(pieces, param->second);
    } else if (piece.kind == Kind::kText) {
      AddText(pieces, piece.text);
    } else {
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

Result<std::optional<std::vector<Pieces>>> PrepareList(
    const std::optional<std::vector<std::string>>& list, const RunSpec& spec) {
  if (!list) return std::nullopt;
  std::vector<Pieces> prepared;
  for (const std::string& text : *list) {
    TIDEMILL_TRY(Pieces pieces, Prepare(text, spec));
    prepared.push_back(std::move(pieces));
  }
  return prepared;
}

// Puts the texts of one item together, and holds them to the limits.
class Writer {
 public:
  Writer(const ItemFacts& facts, const FieldReader& read_field)
      : facts_(facts),
        read_field_(read_field),
        index_(std::to_string(facts.index)),
        text_(facts.text.empty() ? std::string_view(index_) : facts.text) {}

  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::string_view index() const { return index_; }
  std::string_view text() const { return text_; }

  Result<std::string> Write(const Pieces& pieces) {
    std::string out;
    for (const TemplatePiece& piece : pieces) {
      TIDEMILL_TRY_VOID(Append(piece, out));
      if (out.size() > kArgumentBytes) return TooLong("an argument or variable", kArgumentBytes);
    }
    TIDEMILL_TRY_VOID(Count(out));
    return out;
  }

  Result<void> Write(const std::optional<std::vector<Pieces>>& list,
                     std::optional<std::vector<std::string>>& out) {
    if (!list) return {};
    out.emplace().reserve(list->size());
    for (const Pieces& pieces : *list) {
      TIDEMILL_TRY(std::string text, Write(pieces));
      out->push_back(std::move(text));
    }
    return {};
  }

  // One of our own variables.
  Result<void> Set(std::string_view name, std::string_view value, std::vector<std::string>& env) {
    std::string& variable = env.emplace_back(name);
    variable.append("=").append(value);
    if (variable.size() > kArgumentBytes) return TooLong("a variable", kArgumentBytes);
    return Count(variable);
  }

 private:
  static tl::unexpected<Error> TooLong(std::string_view what, std::size_t most) {
    return Fail(Code::kInvalid, std::string(what) + " of the item has more than " +
                                    std::to_string(most) + " bytes");
  }

  Result<void> Count(const std::string& text) {
    bytes_ += text.size() + 1;
    if (bytes_ > kCommandBytes) return TooLong("the command", kCommandBytes);
    return {};
  }

  Result<void> Append(const TemplatePiece& piece, std::string& out) const {
    switch (piece.kind) {
      case Kind::kText:
        out += piece.text;
        break;
      case Kind::kItem:
        out += text_;
        break;
      case Kind::kItemField:
        return AppendField(piece.text, out);
      case Kind::kIndex:
        out += index_;
        break;
      case Kind::kCount:
        out += std::to_string(facts_.count);
        break;
      case Kind::kJob:
        out += facts_.job;
        break;
      case Kind::kAttempt:
        out += std::to_string(facts_.attempt);
        break;
      case Kind::kParam:
      case Kind::kUnknown:
        return Fail(Code::kInternal, "a template was not prepared");
    }
    return {};
  }

  Result<void> AppendField(const std::string& field, std::string& out) const {
    const std::size_t first = text_.find_first_not_of(" \t");
    if (first == std::string_view::npos || text_[first] != '{') {
      const auto part = PathPart(text_, field);
      if (!part) {
        return Fail(Code::kInvalid, "{item." + field +
                                        "}: the item is not a JSON object, and a path has only "
                                        "name, stem, ext and dir");
      }
      out += *part;
      return {};
    }
    auto value = read_field_(text_, field);
    if (!value) {
      return Fail(Code::kInvalid, "{item." + field + "}: the item " + value.error().reason);
    }
    if (value->find('\0') != std::string::npos) {
      return Fail(Code::kInvalid, "{item." + field + "}: has a NUL");
    }
    out += *value;
    return {};
  }

  const ItemFacts& facts_;
  const FieldReader& read_field_;
  const std::string index_;
  const std::string_view text_;
  std::size_t bytes_ = 0;
};

bool IsOfAnItem(const Pieces& pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [](const TemplatePiece& piece) {
    return piece.kind == Kind::kItem || piece.kind == Kind::kItemField ||
           piece.kind == Kind::kIndex || piece.kind == Kind::kAttempt;
  });
}

}  // namespace

Result<CommandPlan> CommandPlan::Of(const RunSpec& spec) {
  CommandPlan plan;
  TIDEMILL_TRY(plan.entrypoint_, PrepareList(spec.entrypoint, spec));
  TIDEMILL_TRY(plan.command_, PrepareList(spec.command, spec));
  for (const auto& [name, value] : spec.env) {
    TIDEMILL_TRY(Pieces pieces, Prepare(value, spec, {{Kind::kText, name + "="}}));
    plan.env_.push_back(std::move(pieces));
  }
  return plan;
}

Result<ItemCommand> CommandPlan::For(const ItemFacts& facts, const FieldReader& read_field) const {
  if (facts.text.find('\0') != std::string::npos) {
    return Fail(Code::kInvalid, "the item has a NUL, which no program can be given");
  }
  Writer writer(facts, read_field);
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
  const ItemFacts facts{.text = {}, .index = 0, .count = count, .job = job, .attempt = 1};
  const FieldReader no_fields = [](std::string_view, std::string_view) -> Result<std::string> {
    return Fail(Code::kInternal, "there is no item");
  };
  Writer writer(facts, no_fields);
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
