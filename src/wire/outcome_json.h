// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/outcome_page.h"

// GET /v1/jobs/{job}/outcomes, and the lines of a job's ledger.
namespace tidemill {

// One attempt as one JSON object, in one line. The same row gives the same bytes.
void AppendOutcomeRow(std::string& out, const OutcomeRow& row);
Result<OutcomeRow> ParseOutcomeRow(std::string_view line);

std::string FormatOutcomes(const OutcomePage& page);
Result<OutcomePage> ParseOutcomes(std::string_view body);

// Where a page begins, as a word that only we read.
std::string FormatOutcomePlace(const OutcomePlace& place);
std::optional<OutcomePlace> ParseOutcomePlace(std::string_view text);

}  // namespace tidemill
