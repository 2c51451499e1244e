// SPDX-License-Identifier: Apache-2.0
#include "unpack/names.h"

#include <algorithm>
#include <utility>

namespace tidemill {
namespace {

using Kind = TarEntry::Kind;

constexpr std::size_t kNameBytes = 1024;
constexpr std::size_t kPartBytes = 255;

// For people: a name may hold anything.
std::string Shown(std::string_view name) {
  std::string shown(name.substr(0, 100));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return "'" + shown + "'";
}

std::string_view TakePart(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

}  // namespace

Result<std::string> UnpackNames::NameOf(std::string_view text) const {
  const auto wrong = [&](const std::string& why) {
    return Fail(Code::kInvalid, Shown(text) + " in the archive " + why);
  };
  if (text.empty()) return wrong("is no name");
  if (text.size() > kNameBytes) return wrong("is too long a name");
  if (text.find('\0') != text.npos) return wrong("has a NUL");
  if (text.starts_with('/')) return wrong("is an absolute name");
  std::string_view rest = text;
  while (rest.starts_with("./")) rest.remove_prefix(2);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest == ".") return std::string();
  const std::string name(rest);
  for (std::size_t depth = 1; !rest.empty(); ++depth) {
    const std::string_view part = TakePart(rest);
    if (part == "..") return wrong("leads out of it");
    if (part.empty() || part == ".") return wrong("is no plain name");
    if (part.size() > kPartBytes) return wrong("is too long a name");
    if (depth > limits_.depth) return wrong("is too deep");
  }
  if (name.ends_with('/')) return wrong("is no plain name");
  return name;
}

// Only at its beginning may a target go up: there the folders are known to be none but folders.
// What follows goes down, perhaps through other links, each of which stays inside likewise.
Result<void> UnpackNames::CheckLink(const std::string& name, std::string_view target) const {
  const auto wrong = [&](const std::string& why) {
    return Fail(Code::kInvalid, "the link " + Shown(name) + " in the archive " + why);
  };
  if (target.empty() || target.size() > kNameBytes || target.find('\0') != target.npos) {
    return wrong("has no good target");
  }
  if (target.starts_with('/')) return wrong("leads out of it");
  auto up = std::count(name.begin(), name.end(), '/');
  bool down = false;
  while (!target.empty()) {
    const std::string_view part = TakePart(target);
    if (part != "..") {
      down = down || (part != "." && !part.empty());
      continue;
    }
    if (down || --up < 0) return wrong("leads out of it, or might");
  }
  return {};
}

Result<void> UnpackNames::Add(const std::string& name, Taken taken) {
  if (taken_.size() >= limits_.entries) {
    return Fail(Code::kInvalid, "the archive has more than " + std::to_string(limits_.entries) +
                                    " files and folders");
  }
  taken_.emplace(name, taken);
  return {};
}

Result<UnpackNames::Place> UnpackNames::Take(const TarEntry& entry) {
  Place place;
  TIDEMILL_TRY(place.name, NameOf(entry.name));
  if (place.name.empty()) {
    if (entry.kind == Kind::kFolder) return place;
    return Fail(Code::kInvalid, "the archive's own folder is no folder");
  }
  if (const auto found = taken_.find(place.name); found != taken_.end()) {
    if (entry.kind != Kind::kFolder || !found->second.implied) {
      return Fail(Code::kInvalid, Shown(place.name) + " is in the archive twice");
    }
    found->second.implied = false;
    return Place();
  }
  for (std::size_t at = place.name.find('/'); at != place.name.npos;
       at = place.name.find('/', at + 1)) {
    std::string above = place.name.substr(0, at);
    const auto found = taken_.find(above);
    if (found == taken_.end()) {
      TIDEMILL_TRY_VOID(Add(above, {Kind::kFolder, true}));
      place.folders.push_back(std::move(above));
    } else if (found->second.kind != Kind::kFolder) {
      return Fail(Code::kInvalid, Shown(place.name) + " in the archive is below what is no folder");
    }
  }
  if (entry.kind == Kind::kLink) {
    TIDEMILL_TRY_VOID(CheckLink(place.name, entry.target));
    place.target = entry.target;
  }
  if (entry.kind == Kind::kHardLink) {
    TIDEMILL_TRY(place.target, NameOf(entry.target));
    const auto found = taken_.find(place.target);
    if (found == taken_.end() || found->second.kind != Kind::kFile) {
      return Fail(Code::kInvalid, Shown(place.name) + " in the archive is a link to no file of it");
    }
  }
  TIDEMILL_TRY_VOID(Add(place.name, {entry.kind == Kind::kHardLink ? Kind::kFile : entry.kind}));
  return place;
}

}  // namespace tidemill
