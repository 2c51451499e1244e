// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the .cc files of item only.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "item/command.h"
#include "model/spec.h"
#include "model/template.h"

namespace tidemill {

using TemplatePieces = std::vector<TemplatePiece>;

// Adds the pieces of a text to those that stand before it; params become text. kInvalid: a template
// stands for nothing.
Result<TemplatePieces> PrepareText(std::string_view text, const RunSpec& spec,
                                   TemplatePieces pieces = {});

// Puts the texts of one item together, and holds them to the limits.
class TextWriter {
 public:
  // Both outlive it.
  TextWriter(const ItemFacts& facts, const FieldReader& read_field)
      : facts_(facts),
        read_field_(read_field),
        index_(std::to_string(facts.index)),
        text_(facts.text.empty() ? std::string_view(index_) : facts.text) {}

  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  std::string_view index() const { return index_; }
  std::string_view text() const { return text_; }

  Result<std::string> Write(const TemplatePieces& pieces);
  Result<void> Write(const std::optional<std::vector<TemplatePieces>>& list,
                     std::optional<std::vector<std::string>>& out);
  // One of our own variables.
  Result<void> Set(std::string_view name, std::string_view value, std::vector<std::string>& env);

 private:
  Result<void> Count(const std::string& text);
  Result<void> Append(const TemplatePiece& piece, std::string& out) const;
  Result<void> AppendField(const std::string& field, std::string& out) const;

  const ItemFacts& facts_;
  const FieldReader& read_field_;
  const std::string index_;
  const std::string_view text_;
  std::size_t bytes_ = 0;
};

}  // namespace tidemill
