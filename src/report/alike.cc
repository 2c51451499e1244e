// SPDX-License-Identifier: Apache-2.0
#include "report/alike.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/ascii.h"

namespace tidemill {
namespace {

constexpr std::array<std::string_view, 30> kSourceEnds = {
    "py", "pyx", "js",  "mjs", "cjs", "ts", "tsx", "go",   "rs",  "c",
    "cc", "cpp", "cxx", "h",   "hpp", "cu", "m",   "java", "kt",  "scala",
    "cs", "rb",  "pl",  "pm",  "php", "sh", "r",   "jl",   "lua", "f90"};
// Behind these, a number of up to three digits says what went wrong.
constexpr std::array<std::string_view, 9> kTelling = {"errno",  "error", "http", "status",   "code",
                                                      "signal", "exit",  "rc",   "errorcode"};
// An item's text that is shorter is found everywhere.
constexpr std::size_t kItemLeast = 3;
// Stands for the item's text until the line is made; clean text has none.
constexpr char kItemMark = '\x01';

bool IsWord(char c) { return IsDigit(c) || IsLetter(c) || c == '_'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// How many bytes the character at the beginning has; 0: it is none.
std::size_t CharBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool longer = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool none = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return longer || none ? 0 : size;
}

// The size of an order to a terminal that begins here: ESC [ ... letter, ESC ] ... BEL, ESC x.
std::size_t EscapeBytes(std::string_view text) {
  if (text.size() < 2) return text.size();
  const bool is_title = text[1] == ']';
  if (text[1] != '[' && !is_title) return 2;
  for (std::size_t i = 2; i < text.size(); ++i) {
    if (text[i] == '\n') return i;
    if (is_title ? text[i] == '\a' : text[i] >= '@' && text[i] <= '~') return i + 1;
  }
  return text.size();
}

bool IsBorder(std::string_view text, std::size_t at) {
  return at >= text.size() || !IsWord(text[at]);
}

// A number is left alone: it becomes what all numbers become.
void MarkItem(std::string& text, std::string_view what) {
  if (what.size() < kItemLeast || std::all_of(what.begin(), what.end(), IsDigit)) return;
  std::size_t at = 0;
  while ((at = text.find(what, at)) != std::string::npos) {
    const bool whole = (at == 0 || IsBorder(text, at - 1) || !IsWord(what.front())) &&
                       (IsBorder(text, at + what.size()) || !IsWord(what.back()));
    if (!whole) {
      at += what.size();
      continue;
    }
    text.replace(at++, what.size(), 1, kItemMark);
  }
}

std::string_view LastPart(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos || slash + 1 == path.size() ? path
                                                                     : path.substr(slash + 1);
}

bool IsPath(std::string_view word) {
  if (word.starts_with("/") && word.size() > 1) return true;
  if (word.starts_with("./") || word.starts_with("../") || word.starts_with("~/")) return true;
  if (word.size() > 3 && IsLetter(word[0]) && word.substr(1, 2) == ":\\") return true;
  if (word.find("://") != std::string_view::npos) return true;
  const std::size_t slash = word.rfind('/');
  if (slash == std::string_view::npos) return false;
  // "input/output error" is none.
  return word.find('.', slash) != std::string_view::npos || word.find('/') != slash;
}

// What stands for something else: one of the forms that are made alike, at the beginning of `rest`.
struct Found {
  std::size_t bytes = 0;
  std::string_view by;
};

std::size_t DigitsAt(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return end - at;
}

std::size_t UuidBytes(std::string_view rest) {
  constexpr std::size_t kBytes = 36;
  if (rest.size() < kBytes || !IsBorder(rest, kBytes)) return 0;
  for (std::size_t i = 0; i < kBytes; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? rest[i] != '-' : !IsHex(rest[i])) return 0;
  }
  return kBytes;
}

// 0x7ffe12, or eight hexadecimal digits and more with a number among them.
std::size_t HexBytes(std::string_view rest) {
  constexpr std::size_t kLeast = 8;
  const bool marked = rest.size() > 2 && rest[0] == '0' && Lower(rest[1]) == 'x' && IsHex(rest[2]);
  std::size_t end = marked ? 2 : 0;
  bool digit = false;
  for (; end < rest.size() && IsHex(rest[end]); ++end) digit = digit || IsDigit(rest[end]);
  if (marked) return end;
  return end >= kLeast && digit && IsBorder(rest, end) ? end : 0;
}

// 12, 1.5, 1,000, 10.0.0.1:5432, 17:57:32
std::size_t NumberBytes(std::string_view rest) {
  std::size_t end = DigitsAt(rest, 0);
  while (end > 0 && end + 1 < rest.size() &&
         std::string_view(".,:_").find(rest[end]) != std::string_view::npos &&
         IsDigit(rest[end + 1])) {
    end += 1 + DigitsAt(rest, end + 1);
  }
  return end;
}

// The bytes of what is in quotes, with them; 0: nothing is.
std::size_t QuotedBytes(std::string_view line, std::size_t at) {
  struct Pair {
    std::string_view open;
    std::string_view close;
  };
  constexpr std::array<Pair, 6> kPairs = {
      {{"'", "'"}, {"\"", "\""}, {"`", "`"}, {"`", "'"}, {"‘", "’"}, {"“", "”"}}};
  if (at > 0 && IsWord(line[at - 1])) return 0;  // "can't"
  for (const Pair& pair : kPairs) {
    if (!line.substr(at).starts_with(pair.open)) continue;
    std::size_t end = line.find(pair.close, at + pair.open.size());
    while (end != std::string_view::npos && !IsBorder(line, end + pair.close.size())) {
      end = line.find(pair.close, end + pair.close.size());
    }
    if (end != std::string_view::npos) return end + pair.close.size() - at;
  }
  return 0;
}

class Maker {
 public:
  explicit Maker(std::string_view line) : line_(line) {}

  std::string Make() {
    while (at_ < line_.size()) Step();
    Squeeze();
    return std::move(out_);
  }

 private:
  void Step() {
    if (const std::size_t quoted = QuotedBytes(line_, at_); quoted > 0) {
      out_ += "'...'";
      at_ += quoted;
    } else if (line_[at_] == ' ' || line_[at_] == '\t') {
      if (!out_.empty() && out_.back() != ' ') out_.push_back(' ');
      ++at_;
    } else {
      const std::size_t end = WordEnd();
      AddWord(line_.substr(at_, end - at_));
      at_ = std::max(end, skip_to_);
    }
  }

  // Up to what no path has unquoted.
  std::size_t WordEnd() const {
    const std::size_t end = line_.find_first_of(" \t\"'`()[]{}<>,;=|", at_);
    return end == std::string_view::npos ? line_.size() : std::max(end, at_ + 1);
  }

  void AddWord(std::string_view word) {
    std::string_view closing;  // "load.py:31:"
    while (word.size() > 1 && word.back() == ':') {
      closing = ":";
      word.remove_suffix(1);
    }
    if (IsPath(word)) word = LastPart(word);
    if (!AddPlace(word, !closing.empty())) {
      AddPlain(word);
      out_ += closing;
      // "os error 2" is a kind of error, "error: 2 rows are missing" is not.
      if (!closing.empty() && last_word_ == "error") last_word_.clear();
    }
  }

  // "load.py:31", "load.py:31:5", "load.py: line 31", "load.py line 31", "run.sh: 31". True if it
  // was one, and is added with all that belongs to it.
  bool AddPlace(std::string_view word, bool closed) {
    const std::size_t colon = word.find(':');
    const std::string_view name = word.substr(0, colon);
    if (!IsSourceName(name)) return false;
    std::string_view line;
    if (colon != std::string_view::npos) {
      line = word.substr(colon + 1, DigitsAt(word, colon + 1));
      if (line.empty()) return false;
    } else {
      line = LineBehind(closed);
    }
    out_ += name;
    if (!line.empty()) out_.append(":").append(line);
    if (closed) out_.push_back(':');
    last_word_.clear();
    return true;
  }

  // The number of a line that stands behind a name, which is passed over; empty: there is none.
  std::string_view LineBehind(bool closed) {
    std::size_t at = WordEnd();
    if (line_.substr(at).starts_with(" line ")) {
      at += 6;
    } else if (closed && line_.substr(at).starts_with(" ")) {
      at += 1;
    } else {
      return {};
    }
    const std::size_t digits = DigitsAt(line_, at);
    if (digits == 0 || !IsBorder(line_, at + digits)) return {};
    const std::string_view number = line_.substr(at, digits);
    skip_to_ = at + digits + (closed && line_.substr(at + digits).starts_with(":") ? 1 : 0);
    return number;
  }

  void AddPlain(std::string_view word) {
    std::size_t i = 0;
    while (i < word.size()) {
      const Found found = FormAt(word, i);
      if (found.bytes > 0) {
        out_ += found.by;
        i += found.bytes;
        last_word_.clear();
        continue;
      }
      if (word[i] == kItemMark) {
        out_ += "{item}";
        ++i;
        continue;
      }
      if (IsLetter(word[i])) {
        if (i == 0 || !IsWord(word[i - 1])) last_word_.clear();
        last_word_.push_back(Lower(word[i]));
      }
      out_.push_back(word[i++]);
    }
  }

  Found FormAt(std::string_view word, std::size_t i) const {
    const std::string_view rest = word.substr(i);
    const bool begins = i == 0 || !IsWord(word[i - 1]);
    if (begins) {
      if (const std::size_t uuid = UuidBytes(rest); uuid > 0) return {uuid, "#"};
      if (const std::size_t hex = HexBytes(rest); hex > 0) return {hex, "#"};
    }
    if (begins && rest.size() > 1 && rest[0] == '-' && IsDigit(rest[1]) && !Tells()) {
      return {1 + NumberBytes(rest.substr(1)), "#"};
    }
    const std::size_t number = NumberBytes(rest);
    if (number == 0) return {};
    if (begins && number <= 3 && Tells()) return {number, rest.substr(0, number)};
    return {number, "#"};
  }

  bool Tells() const {
    return std::find(kTelling.begin(), kTelling.end(), last_word_) != kTelling.end();
  }

  // A list of any length is one number.
  void Squeeze() {
    for (const std::string_view list : {"#, #", "# #", "#,#"}) {
      std::size_t at = 0;
      while ((at = out_.find(list, at)) != std::string::npos) out_.replace(at, list.size(), "#");
    }
    while (!out_.empty() && (out_.back() == ' ' || out_.back() == ':')) out_.pop_back();
  }

  const std::string_view line_;
  std::size_t at_ = 0;
  std::size_t skip_to_ = 0;  // what a place has passed over
  std::string out_;
  std::string last_word_;  // small letters; empty behind a number
};

}  // namespace

std::string CleanText(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  std::size_t line = 0;  // where the line that is being written begins
  for (std::size_t i = 0; i < bytes.size();) {
    const char c = bytes[i];
    if (c == '\x1b') {
      i += EscapeBytes(bytes.substr(i));
      continue;
    }
    const std::size_t size = CharBytes(bytes.substr(i));
    if (c == '\n') {
      out.push_back('\n');
      line = out.size();
    } else if (c == '\r') {
      const bool ends = i + 1 == bytes.size() || bytes[i + 1] == '\n' || bytes[i + 1] == '\r';
      if (!ends) out.resize(line);
    } else if (size == 0) {
      out.push_back('?');
    } else if (c == '\t') {
      out.push_back('\t');
    } else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
      out.append(bytes.substr(i, size));
    }
    i += std::max<std::size_t>(size, 1);
  }
  return out;
}

std::string Alike(std::string_view line, std::string_view item) {
  std::string text(line);
  MarkItem(text, item);
  MarkItem(text, LastPart(item));
  return Maker(text).Make();
}

bool IsSourceName(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  std::string end;
  for (const char c : name.substr(dot + 1)) end.push_back(Lower(c));
  return std::find(kSourceEnds.begin(), kSourceEnds.end(), end) != kSourceEnds.end();
}

void CutUtf8(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  text.resize(most);
}

}  // namespace tidemill
