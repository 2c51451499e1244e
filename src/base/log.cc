// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tidemill {
namespace {

// Control characters are escaped, so that a hostile name cannot forge a line.
void AppendQuoted(std::string& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

spdlog::logger& Sink() {
  static const auto sink = [] {
    auto made = spdlog::stderr_logger_mt("tidemill");
    made->set_pattern("{\"at\":\"%Y-%m-%dT%H:%M:%S.%eZ\",%v}", spdlog::pattern_time_type::utc);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *sink;
}

}  // namespace

void StderrLog::Write(std::string_view level, std::string_view event, Fields fields) {
  std::string line = fmt::format("\"level\":\"{}\",\"event\":", level);
  AppendQuoted(line, event);
  for (const LogField& field : fields) {
    line.push_back(',');
    AppendQuoted(line, field.key);
    line.push_back(':');
    if (field.bare) {
      line += field.text;
    } else {
      AppendQuoted(line, field.text);
    }
  }
  Sink().info(line);
}

}  // namespace tidemill
