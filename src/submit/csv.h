// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// Reads comma-separated values (RFC 4180) piece by piece: fields may be quoted and then hold the
// separator, line breaks, and quotes written twice. Lines end with \n or \r\n; empty ones are
// passed over. Holds one record. Pure.
class CsvReader {
 public:
  // A quote that does not end takes in all that follows: this is where that shows.
  static constexpr std::size_t kRecordBytes = 256 << 10;

  // `line` is where the record begins, from 1. An error ends the reading.
  using OnRecord =
      std::function<Result<void>(std::int64_t line, const std::vector<std::string>& fields)>;

  explicit CsvReader(OnRecord on_record, char separator = ',')
      : on_record_(std::move(on_record)), separator_(separator) {}

  // kInvalid, as "17: a quote ...", with the line; or what the record's reader says.
  Result<void> Feed(std::string_view bytes);
  // A last line need not end.
  Result<void> End();

 private:
  enum class At { kStart, kPlain, kQuoted, kAfterQuote, kCarriage };
  Result<void> Take(char c);
  Result<void> TakeOutside(char c);
  void EndField();
  Result<void> EndRecord();
  Result<void> Wrong(const std::string& why) const;

  const OnRecord on_record_;
  const char separator_;
  At at_ = At::kStart;
  std::string field_;
  std::vector<std::string> fields_;
  std::size_t record_bytes_ = 0;
  std::int64_t line_ = 1;
  std::int64_t record_line_ = 1;
};

}  // namespace tidemill
