// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tidemill {

// One named value of an event.
struct LogField {
  LogField(std::string_view name, std::string_view value) : key(name), text(value) {}
  LogField(std::string_view name, const char* value) : key(name), text(value) {}
  LogField(std::string_view name, const std::string& value) : key(name), text(value) {}
  template <std::integral T>
  LogField(std::string_view name, T value) : key(name), text(std::to_string(value)), bare(true) {}

  std::string_view key;
  std::string text;
  bool bare = false;  // printed without quotes
};

// Events, not prose: a name as noun.verb, then fields. Any thread.
// Error means that a person must act; a simulated run fails on it.
class Log {
 public:
  virtual ~Log() = default;
  using Fields = std::initializer_list<LogField>;
  void Info(std::string_view event, Fields fields = {}) { Write("info", event, fields); }
  void Warn(std::string_view event, Fields fields = {}) { Write("warn", event, fields); }
  void Error(std::string_view event, Fields fields = {}) { Write("error", event, fields); }

 protected:
  virtual void Write(std::string_view level, std::string_view event, Fields fields) = 0;
};

// One line of JSON an event on standard error.
class StderrLog : public Log {
 protected:
  void Write(std::string_view level, std::string_view event, Fields fields) override;
};

// Keeps nothing.
class NullLog : public Log {
 protected:
  void Write(std::string_view, std::string_view, Fields) override {}
};

}  // namespace tidemill
