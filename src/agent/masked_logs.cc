// SPDX-License-Identifier: Apache-2.0
#include "agent/masked_logs.h"

#include <string>
#include <utility>

namespace tidemill {
namespace {

LogPlace LogPlaceOf(const Attempt& attempt) {
  return {attempt.chunk.job, attempt.item, attempt.round, attempt.number};
}

}  // namespace

void MaskedLogs::Begin(const Attempt& attempt, std::shared_ptr<const JobSecrets> secrets) {
  if (secrets == nullptr || secrets->masker().empty()) return;
  texts_.insert_or_assign(attempt.key, Text{attempt.chunk.job, std::move(secrets), std::nullopt});
}

void MaskedLogs::Renew(JobId job, const std::shared_ptr<const JobSecrets>& secrets) {
  for (auto& [key, text] : texts_) {
    if (text.job != job || text.secrets == secrets) continue;
    if (text.masked) text.masked->Use(secrets->masker());
    text.secrets = secrets;
  }
}

void MaskedLogs::Append(const Attempt& attempt, std::string_view bytes) {
  const auto found = texts_.find(attempt.key);
  if (found == texts_.end()) return logs_.Append(LogPlaceOf(attempt), bytes);
  Text& one = found->second;
  if (!one.masked) one.masked.emplace(one.secrets->masker());
  const std::string text = one.masked->Feed(bytes);
  if (!text.empty()) logs_.Append(LogPlaceOf(attempt), text);
}

void MaskedLogs::End(const Attempt& attempt) {
  const auto found = texts_.find(attempt.key);
  if (found == texts_.end()) return;
  const std::string text = found->second.masked ? found->second.masked->Flush() : "";
  if (!text.empty()) logs_.Append(LogPlaceOf(attempt), text);
  texts_.erase(found);
}

std::string MaskedLogs::Close(const Attempt& attempt) {
  End(attempt);
  return logs_.Close(LogPlaceOf(attempt));
}

}  // namespace tidemill
