// SPDX-License-Identifier: Apache-2.0
#include "model/volume.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "base/cut.h"

namespace tidemill {
namespace {

// What the kernel, the engine and we ourselves put into containers. A volume there, or around it,
// would hide it or be written to by whoever makes it.
constexpr std::array<std::string_view, 8> kTaken = {
    "/.tidemill", "/run/tidemill", "/proc",         "/sys",
    "/dev",       "/etc/hosts",    "/etc/hostname", "/etc/resolv.conf"};
// With a read-only root it is in memory; what is below it may be a volume.
constexpr std::string_view kTmp = "/tmp";

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// What comes before the sign, which is taken away with it; all of it if there is none.
}  // namespace

bool IsFolderPath(std::string_view path) {
  if (path.size() < 2 || path.size() > kMountPathBytes || path.front() != '/') return false;
  if (path.back() == '/' || std::any_of(path.begin(), path.end(), IsControl)) return false;
  std::string_view rest = path.substr(1);
  while (!rest.empty()) {
    const std::string_view name = CutAt(rest, '/');
    if (name.empty() || name == "." || name == "..") return false;
  }
  return true;
}

bool Overlap(std::string_view one, std::string_view other) {
  if (one.size() > other.size()) std::swap(one, other);
  return other.starts_with(one) && (other.size() == one.size() || other[one.size()] == '/');
}

std::string WhyNoMountAt(std::string_view path) {
  if (!IsFolderPath(path)) {
    return "must be an absolute path without '.', '..' and '//', below '/', of at most " +
           std::to_string(kMountPathBytes) + " bytes";
  }
  if (path == kTmp) return "a folder below /tmp will do, but not /tmp itself";
  for (const std::string_view taken : kTaken) {
    if (Overlap(path, taken)) return "is where " + std::string(taken) + " of every container is";
  }
  return "";
}

NfsPlace ParseNfs(std::string_view text) {
  const std::size_t colon = text.find(":/");
  if (colon == text.npos || colon == 0) return {};
  const std::string_view server = text.substr(0, colon);
  const std::string_view path = text.substr(colon + 1);
  const bool is_host = std::all_of(server.begin(), server.end(), [](char c) {
    return IsLetterOrDigit(c) || c == '.' || c == '-';
  });
  if (!is_host || !IsLetterOrDigit(server.front())) return {};
  if (path != "/" && !IsFolderPath(path)) return {};
  return {std::string(server), std::string(path)};
}

bool IsNfsOptions(std::string_view text) {
  constexpr std::string_view kSigns = "=._-/:";
  if (text.ends_with(',')) return false;
  while (!text.empty()) {
    const std::string_view option = CutAt(text, ',');
    const bool is_good = std::all_of(option.begin(), option.end(), [&](char c) {
      return IsLetterOrDigit(c) || kSigns.find(c) != kSigns.npos;
    });
    if (option.empty() || !is_good || option.starts_with("addr=")) return false;
  }
  return true;
}

std::string FormatVolumes(const Volumes& volumes) {
  std::string out;
  for (const auto& [name, volume] : volumes) {
    const std::string what = volume.nfs.empty() ? "host\t" + volume.host : "nfs\t" + volume.nfs;
    out +=
        name + "\t" + (volume.readonly ? "ro" : "rw") + "\t" + what + "\t" + volume.options + "\n";
  }
  return out;
}

Volumes ParseVolumes(std::string_view text) {
  Volumes volumes;
  while (!text.empty()) {
    std::string_view line = CutAt(text, '\n');
    const std::string name(CutAt(line, '\t'));
    Volume volume;
    volume.readonly = CutAt(line, '\t') != "rw";
    const bool is_host = CutAt(line, '\t') == "host";
    (is_host ? volume.host : volume.nfs) = CutAt(line, '\t');
    volume.options = CutAt(line, '\t');
    if (volume.host.empty() && volume.nfs.empty()) continue;
    volumes[name] = std::move(volume);
  }
  return volumes;
}

}  // namespace tidemill
