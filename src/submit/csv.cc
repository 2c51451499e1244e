// SPDX-License-Identifier: Apache-2.0
#include "submit/csv.h"

#include <utility>

namespace tidemill {

Result<void> CsvReader::Wrong(const std::string& why) const {
  return Fail(Code::kInvalid, std::to_string(line_) + ": " + why);
}

Result<void> CsvReader::Feed(std::string_view bytes) {
  for (const char c : bytes) TIDEMILL_TRY_VOID(Take(c));
  return {};
}

Result<void> CsvReader::Take(char c) {
  if (++record_bytes_ > kRecordBytes) {
    return Fail(Code::kInvalid, std::to_string(record_line_) + ": this record has more than " +
                                    std::to_string(kRecordBytes) +
                                    " bytes; is a quote in it not ended?");
  }
  if (at_ == At::kCarriage && c != '\n') return Wrong("a carriage return that ends no line");
  if (at_ != At::kQuoted) return TakeOutside(c);
  if (c == '"') {
    at_ = At::kAfterQuote;
    return {};
  }
  if (c == '\n') ++line_;
  field_ += c;
  return {};
}

Result<void> CsvReader::TakeOutside(char c) {
  if (c == separator_) {
    EndField();
    return {};
  }
  if (c == '\n') return EndRecord();
  if (c == '\r') {
    at_ = At::kCarriage;
    return {};
  }
  if (c == '"') {
    if (at_ == At::kPlain) {
      return Wrong("a quote inside of a field; put the whole field in quotes, and write it twice");
    }
    // The second of two is the character itself.
    if (at_ == At::kAfterQuote) field_ += c;
    at_ = At::kQuoted;
    return {};
  }
  if (at_ == At::kAfterQuote) return Wrong("something stands behind the quote that ends a field");
  at_ = At::kPlain;
  field_ += c;
  return {};
}

void CsvReader::EndField() {
  fields_.push_back(std::exchange(field_, {}));
  at_ = At::kStart;
}

Result<void> CsvReader::EndRecord() {
  // Nothing but the end of the line.
  const bool is_empty = fields_.empty() && field_.empty() && record_bytes_ <= 2 &&
                        (at_ == At::kStart || at_ == At::kCarriage);
  EndField();
  std::vector<std::string> fields = std::exchange(fields_, {});
  const std::int64_t line = std::exchange(record_line_, ++line_);
  record_bytes_ = 0;
  if (is_empty) return {};
  return on_record_(line, fields);
}

Result<void> CsvReader::End() {
  if (at_ == At::kQuoted) {
    return Fail(Code::kInvalid, std::to_string(record_line_) + ": a quote that does not end");
  }
  if (record_bytes_ == 0) return {};
  return EndRecord();
}

}  // namespace tidemill
