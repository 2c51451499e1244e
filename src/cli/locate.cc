// SPDX-License-Identifier: Apache-2.0
#include "cli/locate.h"

#include <signal.h>

#include <cerrno>
#include <fstream>
#include <vector>

namespace tidemill::cli {
namespace {

constexpr const char* kMachineFolder = "/var/lib/tidemill";
constexpr std::size_t kUpBytes = 64 << 10;

bool IsAlive(std::int64_t pid) { return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM; }

}  // namespace

std::optional<std::filesystem::path> DataFolder(const Surroundings& around, bool root) {
  if (root) return kMachineFolder;
  if (const auto data = around.Env("XDG_DATA_HOME")) {
    return std::filesystem::path(*data) / "tidemill";
  }
  if (const auto home = around.Env("HOME")) {
    return std::filesystem::path(*home) / ".local/share/tidemill";
  }
  return std::nullopt;
}

std::optional<UpFile> FindUp(const Surroundings& around, bool root) {
  std::vector<std::filesystem::path> folders;
  if (const auto own = DataFolder(around, root)) folders.push_back(*own);
  if (!root) folders.emplace_back(kMachineFolder);
  for (const auto& folder : folders) {
    const auto text = ReadFile(folder / "up.json", kUpBytes);
    if (!text) continue;
    const auto file = ParseUp(*text);
    // One that was killed has left its file behind.
    if (file && IsAlive(file->pid)) return *file;
  }
  return std::nullopt;
}

std::optional<std::string> ReadFile(const std::filesystem::path& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most || file.bad()) return std::nullopt;
  return text;
}

}  // namespace tidemill::cli
