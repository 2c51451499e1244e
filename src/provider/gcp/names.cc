// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/names.h"

#include <algorithm>
#include <cstdint>

#include "base/digest.h"
#include "model/machine_name.h"

namespace tidemill {
namespace {

constexpr std::size_t kLabelBytes = 63;
constexpr std::size_t kTemplateHash = 8;
// So that a template's name, with its dash and hash, is no longer than Google takes.
constexpr std::size_t kGroupBytes = 63 - 1 - kTemplateHash;
constexpr std::size_t kPoolHash = 10;
// Of a pool's name in those of its instances: for people, the hash tells pools apart.
constexpr std::size_t kPoolBytes = 24;

std::string Plain(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool is_taken = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!is_taken) c = '-';
  }
  return plain;
}

std::string ShortHash(std::string_view text, std::size_t digits) {
  return Hex(Sha256(text)).substr(0, digits);
}

// "a-b" and "c" would be called as "a" and "b-c" are.
bool NamesItAlone(const std::string& project, const std::string& pool, const std::string& name) {
  return name.size() <= kGroupBytes && project.find('-') == project.npos &&
         Plain(project) == project && Plain(pool) == pool && !pool.ends_with('-');
}

}  // namespace

GcpNames::GcpNames(const std::string& project, const std::string& pool) : pool_(pool) {
  // Names of ours have no slash, so no two pools have the same text here.
  const std::string hash = ShortHash(project + "/" + pool, kPoolHash);
  group_ = "tidemill-" + Plain(project) + "-" + Plain(pool);
  if (!NamesItAlone(project, pool, group_)) {
    group_ = group_.substr(0, kGroupBytes - 1 - kPoolHash) + "-" + hash;
  }
  base_ = "tm-" + hash;
  begin_ = base_ + "-" + Plain(pool).substr(0, kPoolBytes) + "-";
}

std::string GcpNames::TemplateOf(std::string_view content) const {
  return group_ + "-" + ShortHash(content, kTemplateHash);
}

bool GcpNames::IsTemplate(std::string_view name) const {
  if (name.size() != group_.size() + 1 + kTemplateHash || !name.starts_with(group_ + "-")) {
    return false;
  }
  name.remove_prefix(group_.size() + 1);
  return name.find_first_not_of("0123456789abcdef") == name.npos;
}

std::optional<std::string> GcpNames::InstanceOf(const std::string& machine) const {
  const auto number = MachineNumber(pool_, machine);
  // A name that is spelled in another way would be another machine with the same instance.
  if (!number || *number < 0 || MachineName(pool_, *number) != machine) return std::nullopt;
  return begin_ + std::to_string(*number);
}

std::optional<std::string> GcpNames::MachineOf(const std::string& instance) const {
  if (!instance.starts_with(begin_)) return std::nullopt;
  const std::string machine = pool_ + "-" + instance.substr(begin_.size());
  return InstanceOf(machine) == instance ? std::optional(machine) : std::nullopt;
}

std::string LabelValue(std::string_view text) { return Plain(text).substr(0, kLabelBytes); }

}  // namespace tidemill
