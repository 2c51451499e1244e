// SPDX-License-Identifier: Apache-2.0
#include "env/lock.h"

namespace tidemill {
namespace {

constexpr std::string_view kInputs = "# made by 'tidemill env build' from ";
constexpr std::string_view kBase = "# on ";

// The rest of the first line, which begins so; it is taken off `text`.
Result<std::string> TakeLine(std::string_view& text, std::string_view begin) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos || !line.starts_with(begin) || line == begin) {
    return Fail(Code::kInvalid,
                "it is no lock that 'tidemill env build' has made; delete it, and "
                "it is made anew");
  }
  text.remove_prefix(end + 1);
  return std::string(line.substr(begin.size()));
}

}  // namespace

std::string FormatEnvLock(const EnvLock& lock) {
  return std::string(kInputs) + lock.inputs + "\n" + std::string(kBase) + lock.base + "\n" +
         lock.pins;
}

Result<EnvLock> ParseEnvLock(std::string_view text) {
  EnvLock lock;
  TIDEMILL_TRY(lock.inputs, TakeLine(text, kInputs));
  TIDEMILL_TRY(lock.base, TakeLine(text, kBase));
  lock.pins = text;
  return lock;
}

}  // namespace tidemill
