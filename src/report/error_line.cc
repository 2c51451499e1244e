// SPDX-License-Identifier: Apache-2.0
#include "report/error_line.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "report/alike.h"

namespace tidemill {
namespace {

using Lines = std::vector<std::string_view>;
constexpr std::size_t kNone = std::string_view::npos;

struct FoundError {
  std::size_t line = 0;  // where it begins: of two errors the later one counts
  ErrorLine error;
};

bool IsSpace(char c) { return c == ' ' || c == '\t'; }
bool Has(std::string_view text, std::string_view part) { return text.find(part) != kNone; }
bool IsIndented(std::string_view line) { return !line.empty() && IsSpace(line.front()); }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool Drop(std::string_view& text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

std::string_view Between(std::string_view text, std::string_view open, std::string_view close) {
  const std::size_t from = text.find(open);
  if (from == kNone) return {};
  const std::size_t begin = from + open.size();
  const std::size_t end = text.find(close, begin);
  return end == kNone ? std::string_view() : text.substr(begin, end - begin);
}

Lines SplitLines(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == kNone ? text.size() : end + 1);
  }
  return lines;
}

// The last line for which `is` holds, or kNone.
template <typename Is>
std::size_t FindLast(const Lines& lines, Is is) {
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (is(lines[i])) return i;
  }
  return kNone;
}

std::string PlaceText(std::string_view path, std::string_view line) {
  const std::size_t slash = path.find_last_of("/\\");
  std::string place(slash == kNone ? path : path.substr(slash + 1));
  return place.append(":").append(line);
}

std::string_view Digits(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return text.substr(0, end);
}

// "/app/x.go:31 +0x1d", "(Bar.java:31)", "in /app/X.cs:line 31": the last such place of the line.
std::string PlaceIn(std::string_view line) {
  for (std::size_t colon = line.rfind(':'); colon != kNone && colon > 0;
       colon = line.rfind(':', colon - 1)) {
    std::string_view behind = line.substr(colon + 1);
    Drop(behind, "line ");
    const std::string_view number = Digits(behind);
    if (number.empty()) continue;
    const std::size_t begin = line.find_last_of(" \t(", colon);
    const std::string_view path =
        line.substr(begin == kNone ? 0 : begin + 1, colon - (begin == kNone ? 0 : begin + 1));
    if (IsSourceName(path)) return PlaceText(path, number);
  }
  return "";
}

// "requests.exceptions.ConnectionError: x": who knows the last word knows the rest.
std::string_view WithoutPackage(std::string_view text) {
  const std::string_view type = text.substr(0, text.find_first_of(": "));
  const std::size_t dot = type.rfind('.');
  if (dot == kNone || dot + 1 >= type.size() || Has(type, "/")) return text;
  return text.substr(dot + 1);
}

// --- Python ---

bool IsPythonFrame(std::string_view line) {
  return IsIndented(line) && Trim(line).starts_with("File \"") && Has(line, "\", line ");
}

bool IsPythonLibrary(std::string_view path) {
  return Has(path, "/site-packages/") || Has(path, "/dist-packages/") || Has(path, "/lib/python") ||
         path.starts_with("<");
}

// The innermost frame of the program's own code; else the innermost one.
std::string PythonPlace(const Lines& lines, std::size_t last) {
  std::string place;
  for (std::size_t i = last + 1; i-- > 0 && IsIndented(lines[i]);) {
    if (!IsPythonFrame(lines[i])) continue;
    const std::string_view path = Between(lines[i], "File \"", "\"");
    const std::string_view number = Digits(lines[i].substr(lines[i].find("\", line ") + 8));
    if (!IsPythonLibrary(path)) return PlaceText(path, number);
    if (place.empty()) place = PlaceText(path, number);
  }
  return place;
}

std::optional<FoundError> Python(const Lines& lines) {
  const std::size_t frame = FindLast(lines, IsPythonFrame);
  if (frame == kNone) return std::nullopt;
  std::size_t at = frame + 1;
  while (at < lines.size() && (lines[at].empty() || IsIndented(lines[at]))) ++at;
  if (at == lines.size()) return std::nullopt;
  return FoundError{at, {std::string(WithoutPackage(lines[at])), PythonPlace(lines, frame)}};
}

// --- Java, .NET and Node: a line, and frames that begin with 'at' ---

bool IsAtFrame(std::string_view line) {
  return IsIndented(line) && Trim(line).starts_with("at ") &&
         (Has(line, "(") || !PlaceIn(line).empty());
}

bool IsAtLibrary(std::string_view frame) {
  static constexpr std::array<std::string_view, 8> kBegins = {
      "java.", "javax.", "jdk.", "sun.", "java.base/", "scala.", "kotlin.", "System."};
  if (Has(frame, "node:") || Has(frame, "node_modules/")) return true;
  std::string_view name = Trim(frame);
  Drop(name, "at ");
  return std::any_of(kBegins.begin(), kBegins.end(),
                     [name](std::string_view begin) { return name.starts_with(begin); });
}

std::string_view AtHead(std::string_view line) {
  line = Trim(line);
  Drop(line, "Caused by: ");
  Drop(line, "Uncaught ");
  Drop(line, "Unhandled exception. ");
  if (line.starts_with("Exception in thread \"")) {
    const std::size_t end = line.find("\" ");
    if (end != kNone) line.remove_prefix(end + 2);
  }
  return WithoutPackage(line);
}

std::optional<FoundError> AtFrames(const Lines& lines) {
  std::size_t frame = FindLast(lines, IsAtFrame);
  if (frame == kNone) return std::nullopt;
  while (frame > 0 && IsAtFrame(lines[frame - 1])) --frame;
  std::string place;
  for (std::size_t i = frame; i < lines.size() && IsAtFrame(lines[i]); ++i) {
    const std::string here = PlaceIn(lines[i]);
    if (here.empty() || (IsAtLibrary(lines[i]) && !place.empty())) continue;
    place = here;
    if (!IsAtLibrary(lines[i])) break;
  }
  // A message may have several lines; what they are the message of is not indented.
  std::size_t head = frame;
  while (head > 0 && (lines[head - 1].empty() || IsIndented(lines[head - 1])) &&
         !Trim(lines[head - 1]).starts_with("Caused by: ")) {
    --head;
  }
  if (head == 0 || lines[head - 1] == "stack backtrace:") return std::nullopt;  // that is Rust's
  return FoundError{head - 1, {std::string(AtHead(lines[head - 1])), place}};
}

// --- Go ---

std::optional<FoundError> Go(const Lines& lines) {
  const std::size_t head = FindLast(lines, [](std::string_view line) {
    return line.starts_with("panic: ") || line.starts_with("fatal error: ");
  });
  if (head == kNone) return std::nullopt;
  FoundError found{head, {std::string(lines[head]), ""}};
  bool in_stack = false;
  for (std::size_t i = head + 1; i < lines.size(); ++i) {
    if (lines[i].starts_with("goroutine ")) in_stack = true;
    if (!in_stack || !lines[i].starts_with("\t") || Has(lines[i], "/src/runtime/")) continue;
    found.error.place = PlaceIn(lines[i]);
    if (!found.error.place.empty()) return found;
  }
  return found;
}

// --- Rust ---

// "thread 'main' panicked at src/main.rs:4:5:" and the message in the next line; before Rust 1.73
// "thread 'main' panicked at 'message', src/main.rs:4:5".
std::optional<FoundError> Rust(const Lines& lines) {
  constexpr std::string_view kAt = " panicked at ";
  const std::size_t head = FindLast(
      lines, [&](std::string_view line) { return line.starts_with("thread '") && Has(line, kAt); });
  if (head == kNone) return std::nullopt;
  const std::string_view rest = lines[head].substr(lines[head].find(kAt) + kAt.size());
  std::string text = "panic";
  std::string_view message;
  if (rest.starts_with("'")) {
    message = rest.substr(1, rest.rfind("',") - 1);
  } else if (head + 1 < lines.size()) {
    message = lines[head + 1];
  }
  if (!message.empty()) text.append(": ").append(message);
  std::string place;  // of the first number behind a name: the second one is the column
  const std::size_t at = rest.starts_with("'") ? rest.rfind("', ") : 0;
  const std::string_view where = at == 0 ? rest : rest.substr(std::min(at + 3, rest.size()));
  const std::size_t colon = where.find(':');
  if (colon != kNone) place = PlaceText(where.substr(0, colon), Digits(where.substr(colon + 1)));
  return FoundError{head, {std::move(text), std::move(place)}};
}

// --- C++ ---

std::optional<FoundError> Cpp(const Lines& lines) {
  constexpr std::string_view kHead = "terminate called after throwing an instance of '";
  const std::size_t head =
      FindLast(lines, [&](std::string_view line) { return line.starts_with(kHead); });
  if (head == kNone) return std::nullopt;
  std::string text(Between(lines[head], "'", "'"));
  if (head + 1 < lines.size()) {
    std::string_view what = Trim(lines[head + 1]);
    if (Drop(what, "what():")) text.append(": ").append(Trim(what));
  }
  return FoundError{head, {std::move(text), ""}};
}

std::optional<FoundError> Sanitizer(const Lines& lines) {
  const std::size_t head =
      FindLast(lines, [](std::string_view line) { return Has(line, "Sanitizer: "); });
  if (head == kNone) return std::nullopt;
  std::string_view text = lines[head];
  if (Drop(text, "SUMMARY: ")) return FoundError{head, {std::string(text), ""}};
  if (const std::size_t at = text.find("ERROR: "); at != kNone) text.remove_prefix(at + 7);
  text = text.substr(0, text.find(" on "));
  FoundError found{head, {std::string(text), ""}};
  for (std::size_t i = head + 1; i < lines.size() && found.error.place.empty(); ++i) {
    if (Trim(lines[i]).starts_with("#")) found.error.place = PlaceIn(lines[i]);
  }
  return found;
}

// --- all others ---

std::string_view WithoutTime(std::string_view line) {
  constexpr int kLeastDigits = 6;
  std::size_t end = 0;
  int digits = 0;
  while (end < line.size() && Has("0123456789-/:.,TZ+[] ", line.substr(end, 1))) {
    digits += IsDigit(line[end++]) ? 1 : 0;
  }
  return digits >= kLeastDigits ? line.substr(end) : line;
}

enum class Sound { kNothing, kNoise, kPlain, kWeak, kStrong };

// How much a line sounds like the error that ended its program.
Sound SoundOf(std::string_view line) {
  static constexpr std::array<std::string_view, 5> kNoise = {
      "make: ***", "make[", "note: ", "Execution halted", "Node.js v"};
  static constexpr std::array<std::string_view, 7> kStrong = {
      "error:", "fatal:", "exception:", "panic:", "critical:", "error]", "fatal error"};
  static constexpr std::array<std::string_view, 3> kLoud = {"ERROR", "FATAL", "CRITICAL"};
  static constexpr std::array<std::string_view, 27> kWeak = {
      "error",     "exception", "fail",    "fatal",         "cannot",    "can't",     "can not",
      "could not", "couldn't",  "unable",  "not found",     "no such",   "denied",    "refused",
      "invalid",   "abort",     "killed",  "segmentation",  "timed out", "timeout",   "assert",
      "undefined", "missing",   "unknown", "out of memory", "corrupt",   "terminated"};
  const std::string_view text = Trim(line);
  if (text.empty()) return Sound::kNothing;
  std::string low(text);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto has = [](std::string_view where, const auto& words) {
    return std::any_of(words.begin(), words.end(),
                       [where](std::string_view word) { return Has(where, word); });
  };
  if (std::any_of(kNoise.begin(), kNoise.end(),
                  [text](std::string_view begin) { return text.starts_with(begin); })) {
    return Sound::kNoise;
  }
  if (Has(low, "no error") || Has(low, " 0 error") || low.starts_with("0 error")) {
    return Sound::kPlain;
  }
  if (has(low, kStrong) || has(text, kLoud) || low.starts_with("error ")) return Sound::kStrong;
  return has(low, kWeak) ? Sound::kWeak : Sound::kPlain;
}

ErrorLine AnyLine(const Lines& lines) {
  Sound loudest = Sound::kNothing;
  std::string_view chosen;
  for (std::size_t i = lines.size(); i-- > 0;) {
    const std::string_view line = WithoutTime(Trim(lines[i]));
    const Sound sound = SoundOf(line);
    if (sound <= loudest) continue;
    loudest = sound;
    chosen = line;
  }
  return {std::string(Trim(chosen)), ""};
}

}  // namespace

ErrorLine FindErrorLine(std::string_view text) {
  const Lines lines = SplitLines(text);
  std::optional<FoundError> last;
  for (const auto form : {Python, AtFrames, Go, Rust, Cpp, Sanitizer}) {
    std::optional<FoundError> found = form(lines);
    if (found && !Trim(found->error.text).empty() && (!last || found->line > last->line)) {
      last = std::move(found);
    }
  }
  return last ? std::move(last->error) : AnyLine(lines);
}

}  // namespace tidemill
