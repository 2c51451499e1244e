// SPDX-License-Identifier: Apache-2.0
#include "cli/row_file.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include "wire/outcome_json.h"
#include "wire/time.h"

namespace tidemill::cli {
namespace {

std::string PartOf(const std::string& name) { return name + ".part"; }

tl::unexpected<Error> CannotWrite(const std::string& name) {
  return Fail(Code::kUnavailable, "cannot write " + (name.empty() ? "standard output" : name) +
                                      ": " + std::strerror(errno));
}

// Spreadsheets take such a text for a formula, and items may write anything.
bool LooksLikeFormula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text[0]) == std::string_view::npos) {
    return false;
  }
  double number = 0;
  const char* const begin = text.data() + (text[0] == '+' ? 1 : 0);
  const auto read = std::from_chars(begin, text.data() + text.size(), number);
  return read.ec != std::errc{} || read.ptr != text.data() + text.size();
}

// As RFC 4180 has it.
void AppendCell(std::string& out, std::string_view text) {
  if (LooksLikeFormula(text)) return AppendCell(out, "'" + std::string(text));
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out.append(text);
    return;
  }
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

}  // namespace

std::optional<RowFormat> RowFormatOf(std::string_view name) {
  if (name.ends_with(".csv")) return RowFormat::kCsv;
  if (name.ends_with(".jsonl")) return RowFormat::kJsonl;
  if (name.ends_with(".jsonl.zst")) return RowFormat::kJsonlZst;
  return std::nullopt;
}

std::string CsvHead() {
  return "item,text,round,attempt,last,cause,exit,started_at,duration_ms,cpu_ms,memory_bytes,"
         "machine,log,error,result,devices\n";
}

void AppendCsvRow(std::string& out, const OutcomeRow& row) {
  const Outcome& outcome = row.outcome;
  out.append(std::to_string(outcome.item)).push_back(',');
  AppendCell(out, row.text);
  out.append(",").append(std::to_string(outcome.round));
  out.append(",").append(std::to_string(outcome.attempt));
  out.append(row.last ? ",true," : ",false,").append(CauseName(outcome.cause));
  out.append(",").append(std::to_string(outcome.exit)).push_back(',');
  if (outcome.start_ms != 0) out.append(FormatTime(outcome.start_ms));
  out.append(",").append(std::to_string(outcome.duration_ms));
  out.append(",").append(std::to_string(outcome.cpu_ms));
  out.append(",").append(std::to_string(outcome.memory_bytes));
  for (const std::string* text :
       {&outcome.machine, &outcome.log, &outcome.error, &outcome.result, &outcome.devices}) {
    out.push_back(',');
    AppendCell(out, *text);
  }
  out.push_back('\n');
}

Result<RowFile> RowFile::Open(const std::string& name) {
  RowFile file;
  if (name == "-") {
    file.file_.reset(::fdopen(::dup(STDOUT_FILENO), "wb"));
    if (file.file_ == nullptr) return CannotWrite("");
    return file;
  }
  const auto format = RowFormatOf(name);
  if (!format) {
    return Fail(Code::kInvalid, "'" + name + "': a name must end with .csv, .jsonl or .jsonl.zst");
  }
  file.format_ = *format;
  file.name_ = name;
  file.file_.reset(std::fopen(PartOf(name).c_str(), "wb"));
  if (file.file_ == nullptr) return CannotWrite(name);
  if (*format == RowFormat::kJsonlZst) file.packer_.emplace();
  if (*format == RowFormat::kCsv) TIDEMILL_TRY_VOID(file.Write(CsvHead()));
  return file;
}

RowFile::~RowFile() {
  if (file_ == nullptr || name_.empty()) return;
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(PartOf(name_), ignored);
}

Result<void> RowFile::Write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    return CannotWrite(name_);
  }
  return {};
}

Result<void> RowFile::Add(const OutcomeRow& row) {
  ++rows_;
  line_.clear();
  if (format_ == RowFormat::kCsv) {
    AppendCsvRow(line_, row);
  } else {
    AppendOutcomeRow(line_, row);
    line_.push_back('\n');
  }
  if (!packer_) return Write(line_);
  packed_.clear();
  packer_->Add(line_, packed_);
  return Write(packed_);
}

Result<void> RowFile::Finish() {
  if (packer_) {
    packed_.clear();
    packer_->Finish(packed_);
    TIDEMILL_TRY_VOID(Write(packed_));
  }
  if (std::fflush(file_.get()) != 0) return CannotWrite(name_);
  if (name_.empty()) return {};
  std::error_code error;
  std::filesystem::rename(PartOf(name_), name_, error);
  if (error) {
    return Fail(Code::kUnavailable, "cannot write " + name_ + ": " + error.message());
  }
  file_.reset();
  return {};
}

}  // namespace tidemill::cli
