// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Texts of a spec that are made anew for each item: `--out={item.stem}.png`.
//
// A template is {word} or {word.more}, where the first word is [a-z][A-Za-z0-9_]* and what follows
// are words of [A-Za-z0-9_-]+ with dots between them. Braces around anything else are only braces,
// so programs and JSON may stand in a command. ${word} belongs to the shell, and {{word}} stands
// for the letters {word}.
namespace tidemill {

struct TemplatePiece {
  enum class Kind : std::uint8_t {
    kText,       // as it stands in `text`
    kItem,       // {item}
    kItemField,  // {item.FIELD}: `text` is the field, dots and all
    kIndex,      // {index}
    kCount,      // {count}
    kJob,        // {job}
    kAttempt,    // {attempt}
    kParam,      // {params.NAME}: `text` is the name
    kInput,      // {input} or {input.NAME}: `text` is the name; the path of a staged file
    kOutput,     // {output} or {output.NAME}: likewise
    kUnknown,    // `text` is what stands between the braces
  };
  Kind kind = Kind::kText;
  std::string text;
  bool operator==(const TemplatePiece&) const = default;
};

// The first words that mean something.
inline constexpr std::array<std::string_view, 8> kTemplateWords = {
    "item", "index", "count", "job", "attempt", "params", "input", "output"};

// What is of one item, and not of all: a program that serves many cannot be told it at its start.
bool IsOfOneItem(TemplatePiece::Kind kind);

// Never fails: what has no meaning is kUnknown, for the caller to judge. No piece of text stands
// next to another, and none is empty, so a text without templates is one piece.
std::vector<TemplatePiece> ParseTemplate(std::string_view text);

// Whether {params.NAME} can name it.
bool IsParamName(std::string_view text);

}  // namespace tidemill
