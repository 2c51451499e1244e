// SPDX-License-Identifier: Apache-2.0
#include "registry/challenge.h"

#include <algorithm>

namespace tidemill {
namespace {

constexpr std::size_t kFieldBytes = 8'192;
constexpr std::size_t kRealmBytes = 1'024;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

// A `token` of RFC 9110.
bool IsWordChar(char c) {
  const char low = Lower(c);
  return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// Takes a field apart. Each step leaves `rest` behind what it has read.
class Reader {
 public:
  explicit Reader(std::string_view field) : rest_(field) {}

  bool done() const { return rest_.empty(); }
  void SkipSpaces() { Skip(" \t"); }
  void SkipCommas() { Skip(" \t,"); }
  std::string_view Word() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), IsWordChar);
    return Take(static_cast<std::size_t>(end - rest_.begin()));
  }
  bool Eat(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // A word or a quoted text; nothing if it is neither.
  std::optional<std::string> Value() {
    if (Eat('"')) return Quoted();
    const std::string_view word = Word();
    if (word.empty()) return std::nullopt;
    return std::string(word);
  }
  std::string_view rest() const { return rest_; }
  void GoBackTo(std::string_view rest) { rest_ = rest; }

 private:
  void Skip(std::string_view chars) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(chars), rest_.size()));
  }
  std::string_view Take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::optional<std::string> Quoted() {
    std::string text;
    while (!rest_.empty()) {
      char c = Take(1)[0];
      if (c == '"') return text;
      if (c == '\\') {
        if (rest_.empty()) break;
        c = Take(1)[0];
      }
      if (c < ' ' || c == 127) return std::nullopt;
      text += c;
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

enum class Read { kParameter, kNextWay, kMalformed };

// One `name=value` of a way in. A word without '=' begins the next way.
Read ReadParameter(Reader& reader, Challenge& challenge) {
  const std::string_view before = reader.rest();
  const std::string_view name = reader.Word();
  if (name.empty()) return Read::kMalformed;
  reader.SkipSpaces();
  if (!reader.Eat('=')) {
    reader.GoBackTo(before);
    return Read::kNextWay;
  }
  reader.SkipSpaces();
  const std::optional<std::string> value = reader.Value();
  if (!value) return Read::kMalformed;
  if (SameWord(name, "realm")) challenge.realm = *value;
  if (SameWord(name, "service")) challenge.service = *value;
  return Read::kParameter;
}

}  // namespace

std::optional<Challenge> ParseChallenge(std::string_view field) {
  if (field.size() > kFieldBytes) return std::nullopt;
  Reader reader(field);
  reader.SkipCommas();
  while (!reader.done()) {
    const std::string_view scheme = reader.Word();
    if (scheme.empty()) return std::nullopt;
    Challenge challenge;
    reader.SkipSpaces();
    Read read = Read::kParameter;
    while (!reader.done() && read == Read::kParameter) {
      reader.SkipCommas();
      if (!reader.done()) read = ReadParameter(reader, challenge);
    }
    if (read == Read::kMalformed) return std::nullopt;
    if (SameWord(scheme, "basic")) return Challenge{};
    challenge.bearer = SameWord(scheme, "bearer");
    const bool has_realm = !challenge.realm.empty() && challenge.realm.size() <= kRealmBytes;
    if (challenge.bearer && has_realm && challenge.service.size() <= kRealmBytes) return challenge;
  }
  return std::nullopt;
}

Result<UrlTarget> TargetOfUrl(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return Fail(Code::kInvalid, "no URL");
  const std::size_t slash = std::min(url.find_first_of("/?#", scheme + 3), url.size());
  UrlTarget place;
  TIDEMILL_TRY(place.origin, ParseSafeUrl(url.substr(0, slash)));
  place.target = url.substr(slash, url.find('#') - slash);
  if (!place.target.starts_with('/')) place.target.insert(0, "/");
  return place;
}

Result<UrlTarget> TokenTargetOf(const Challenge& challenge, std::string_view path) {
  TIDEMILL_TRY(UrlTarget token, TargetOfUrl(challenge.realm));
  token.target += token.target.find('?') == std::string::npos ? '?' : '&';
  if (!challenge.service.empty()) {
    token.target += "service=" + PercentEncode(challenge.service) + "&";
  }
  token.target += "scope=" + PercentEncode("repository:" + std::string(path) + ":pull");
  return token;
}

}  // namespace tidemill
