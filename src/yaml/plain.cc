// SPDX-License-Identifier: Apache-2.0
#include "yaml/plain.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "yaml/scalar.h"

namespace tidemill {
namespace {

// Below what ToJson takes at the least: whoever crosses them is told so there.
constexpr std::size_t kLines = 30'000;
constexpr int kDepth = 16;
constexpr std::size_t kKeyBytes = 64;

bool IsOf(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return IsLetter(c) || IsDigit(c) || others.find(c) != std::string_view::npos;
  });
}

// "- key: value", each part of which may be missing.
struct Line {
  std::size_t indent = 0;  // of the dash, if there is one
  bool has_dash = false;
  std::string key = {};    // JSON
  std::string value = {};  // JSON; empty: it stands in the lines below

  // Where the fields of the object stand that begins here.
  std::size_t Column() const { return has_dash ? indent + 2 : indent; }
};

std::optional<std::string> ReadWord(std::string_view word) {
  if (word.empty()) return std::nullopt;
  if (word.front() == '"') {
    const bool is_plain =
        word.size() >= 2 && word.find_first_of("\"\\", 1) == word.size() - 1 && word.back() == '"';
    if (!is_plain) return std::nullopt;
    return TextToJson(word.substr(1, word.size() - 2));
  }
  const char first = word.front();
  const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size() - 1);
  const bool is_flag = dashes > 0 && dashes <= 2 && IsLetter(word[dashes]);
  const bool begins = IsLetter(first) || IsDigit(first) || first == '/' || first == '.' || is_flag;
  // Whoever wants to be warned of a zero in front of a number is warned by ToJson.
  const bool is_octal =
      first == '0' && word.size() > 1 && std::all_of(word.begin(), word.end(), IsDigit);
  if (!begins || is_octal || word.back() == ':' || !IsOf(word, "/._=+,:-")) return std::nullopt;
  auto json = PlainToJson(word);
  if (!json) return std::nullopt;
  return *std::move(json);
}

std::optional<std::string> ReadKey(std::string_view word) {
  const bool is_key =
      !word.empty() && word.size() <= kKeyBytes && IsLetter(word.front()) && IsOf(word, "/._-");
  auto json = is_key ? ReadWord(word) : std::nullopt;
  if (!json || json->front() != '"') return std::nullopt;  // true, null
  return json;
}

std::optional<Line> ReadLine(std::string_view text) {
  Line line;
  line.indent = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(line.indent);
  line.has_dash = text.starts_with("- ");
  if (line.has_dash) text.remove_prefix(2);
  if (text.empty()) return std::nullopt;
  const std::size_t colon = text.find(": ");
  const bool opens = text.back() == ':';
  if (text.front() != '"' && (opens || colon != std::string_view::npos)) {
    const std::size_t end = std::min(colon, text.size() - 1);
    auto key = ReadKey(text.substr(0, end));
    if (!key) return std::nullopt;
    line.key = *std::move(key);
    if (end == text.size() - 1) return line;
    text.remove_prefix(end + 2);
  } else if (!line.has_dash) {
    return std::nullopt;  // a word alone, or one that goes on from the line above
  }
  auto value = ReadWord(text);
  if (!value) return std::nullopt;
  line.value = *std::move(value);
  return line;
}

std::optional<std::vector<Line>> ReadLines(std::string_view yaml) {
  std::vector<Line> lines;
  if (yaml.starts_with("---\n")) yaml.remove_prefix(4);
  while (!yaml.empty()) {
    const std::size_t end = std::min(yaml.find('\n'), yaml.size());
    auto line = ReadLine(yaml.substr(0, end));
    if (!line || lines.size() == kLines) return std::nullopt;
    lines.push_back(*std::move(line));
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
  }
  return lines;
}

// Each function writes what begins at the next line, and says whether it could.
class Writer {
 public:
  explicit Writer(const std::vector<Line>& lines) : lines_(lines) {}

  std::optional<std::string> Write() {
    if (lines_.empty() || lines_.front().indent != 0 || !WriteBlock(1)) return std::nullopt;
    if (next_ < lines_.size()) return std::nullopt;
    return std::move(json_);
  }

 private:
  bool IsAt(std::size_t indent, bool has_dash) const {
    return next_ < lines_.size() && lines_[next_].indent == indent &&
           lines_[next_].has_dash == has_dash;
  }

  bool WriteBlock(int depth) {
    if (depth > kDepth) return false;
    const Line& first = lines_[next_];
    return first.has_dash ? WriteList(first.indent, depth) : WriteObject(first.indent, depth);
  }

  bool WriteList(std::size_t indent, int depth) {
    json_ += '[';
    for (bool is_first = true; IsAt(indent, true); is_first = false) {
      if (!is_first) json_ += ',';
      const Line& line = lines_[next_];
      if (!line.key.empty()) {
        if (!WriteObject(line.Column(), depth + 1)) return false;
        continue;
      }
      json_ += line.value;
      ++next_;
    }
    json_ += ']';
    return true;
  }

  // The first line may have the dash of a list in front of it.
  bool WriteObject(std::size_t column, int depth) {
    if (depth > kDepth) return false;
    std::set<std::string_view> seen;
    json_ += '{';
    do {
      const Line& line = lines_[next_++];
      if (line.key.empty() || !seen.insert(line.key).second) return false;
      if (seen.size() > 1) json_ += ',';
      json_.append(line.key).append(":").append(line.value);
      if (!line.value.empty()) continue;
      // Below it and further in; but a list may stand as far out as its name.
      const bool is_below = next_ < lines_.size() && lines_[next_].indent > column;
      if (!is_below && !IsAt(column, true)) return false;
      if (!WriteBlock(depth + 1)) return false;
    } while (IsAt(column, false));
    json_ += '}';
    return true;
  }

  const std::vector<Line>& lines_;
  std::size_t next_ = 0;
  std::string json_;
};

}  // namespace

std::optional<std::string> PlainYamlToJson(std::string_view yaml) {
  const bool is_printable = std::all_of(
      yaml.begin(), yaml.end(), [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n'; });
  if (!is_printable) return std::nullopt;
  const auto lines = ReadLines(yaml);
  if (!lines) return std::nullopt;
  return Writer(*lines).Write();
}

}  // namespace tidemill
