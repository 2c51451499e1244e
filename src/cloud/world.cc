// SPDX-License-Identifier: Apache-2.0
#include "cloud/world.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/wall.h"

namespace tidemill {
namespace {

// Some hundred profiles fit; a device or a log file does not.
constexpr std::size_t kKeyFileBytes = 256 << 10;

}  // namespace

CloudWorld SystemWorld() {
  CloudWorld world;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    const std::size_t sign = variable.find('=');
    if (sign == variable.npos) continue;
    world.environment.emplace(variable.substr(0, sign), variable.substr(sign + 1));
  }
  world.now_ms = WallMs;
  return world;
}

std::string CloudWorld::Variable(std::string_view name) const {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::string CloudWorld::InHome(std::string_view path) const {
  if (!path.starts_with("~/")) return std::string(path);
  return Variable("HOME").append(path.substr(1));
}

Result<std::string> ReadKeyFile(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    const Code code = errno == ENOENT || errno == ENOTDIR ? Code::kNotFound : Code::kInvalid;
    return Fail(code, path + ": " + std::strerror(errno));
  }
  std::string text(kKeyFileBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(Code::kInvalid, path + ": " + std::strerror(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kKeyFileBytes) return Fail(Code::kInvalid, path + ": too long for a file of keys");
  text.resize(size);
  return text;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace tidemill
