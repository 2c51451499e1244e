// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/zstd_packer.h"
#include "model/outcome_page.h"

namespace tidemill::cli {

enum class RowFormat { kCsv, kJsonl, kJsonlZst };
// By how the name ends: .csv, .jsonl, .jsonl.zst.
std::optional<RowFormat> RowFormatOf(std::string_view name);

// The names of the columns, with a line break; and one row of them.
std::string CsvHead();
void AppendCsvRow(std::string& out, const OutcomeRow& row);

// A file of results. A row at a time, in little memory. It has its name once it is whole: before
// Finish there is only NAME.part, which goes when this goes. One thread.
class RowFile {
 public:
  // "-" is standard output, as JSON lines. kInvalid: a name that does not say what it is.
  static Result<RowFile> Open(const std::string& name);
  RowFile(RowFile&&) noexcept = default;
  RowFile& operator=(RowFile&&) = delete;
  ~RowFile();

  Result<void> Add(const OutcomeRow& row);
  Result<void> Finish();
  std::int64_t rows() const { return rows_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  RowFile() = default;
  Result<void> Write(std::string_view bytes);

  RowFormat format_ = RowFormat::kJsonl;
  std::string name_;  // empty: standard output
  std::unique_ptr<std::FILE, Close> file_;
  std::optional<ZstdPacker> packer_;
  std::string line_;
  std::string packed_;
  std::int64_t rows_ = 0;
};

}  // namespace tidemill::cli
