// SPDX-License-Identifier: Apache-2.0
#include "item/text_writer.h"

#include <utility>

#include "item/path.h"

namespace tidemill {
namespace {

using Kind = TemplatePiece::Kind;

void AddText(TemplatePieces& pieces, const std::string& text) {
  if (!pieces.empty() && pieces.back().kind == Kind::kText) {
    pieces.back().text += text;
  } else {
    pieces.push_back({Kind::kText, text});
  }
}

tl::unexpected<Error> TooLong(std::string_view what, std::size_t most) {
  return Fail(Code::kInvalid,
              std::string(what) + " of the item has more than " + std::to_string(most) + " bytes");
}

Result<void> AppendPath(const std::map<std::string, std::string>& paths, const std::string& name,
                        std::string& out) {
  const auto found = paths.find(name);
  if (found == paths.end()) return Fail(Code::kInternal, "a path was not prepared");
  out += found->second;
  return {};
}

}  // namespace

Result<TemplatePieces> PrepareText(std::string_view text, const RunSpec& spec,
                                   TemplatePieces pieces) {
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

Result<std::string> TextWriter::Write(const TemplatePieces& pieces) {
  std::string out;
  for (const TemplatePiece& piece : pieces) {
    TIDEMILL_TRY_VOID(Append(piece, out));
    if (out.size() > kArgumentBytes) return TooLong("an argument or variable", kArgumentBytes);
  }
  TIDEMILL_TRY_VOID(Count(out));
  return out;
}

Result<void> TextWriter::Write(const std::optional<std::vector<TemplatePieces>>& list,
                               std::optional<std::vector<std::string>>& out) {
  if (!list) return {};
  out.emplace().reserve(list->size());
  for (const TemplatePieces& pieces : *list) {
    TIDEMILL_TRY(std::string text, Write(pieces));
    out->push_back(std::move(text));
  }
  return {};
}

Result<void> TextWriter::Set(std::string_view name, std::string_view value,
                             std::vector<std::string>& env) {
  std::string& variable = env.emplace_back(name);
  variable.append("=").append(value);
  if (variable.size() > kArgumentBytes) return TooLong("a variable", kArgumentBytes);
  return Count(variable);
}

Result<void> TextWriter::Count(const std::string& text) {
  bytes_ += text.size() + 1;
  if (bytes_ > kCommandBytes) return TooLong("the command", kCommandBytes);
  return {};
}

Result<void> TextWriter::Append(const TemplatePiece& piece, std::string& out) const {
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
    case Kind::kInput:
      return AppendPath(facts_.inputs, piece.text, out);
    case Kind::kOutput:
      return AppendPath(facts_.outputs, piece.text, out);
    case Kind::kParam:
    case Kind::kUnknown:
      return Fail(Code::kInternal, "a template was not prepared");
  }
  return {};
}

Result<void> TextWriter::AppendField(const std::string& field, std::string& out) const {
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

}  // namespace tidemill
