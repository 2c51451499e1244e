// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/item_page.h"

// GET /v1/jobs/{job}/items
namespace tidemill {

// An item has `attempts` and `outcome` if an attempt at it is known.
std::string FormatItems(const ItemPage& page);
Result<ItemPage> ParseItems(std::string_view body);

// One item as a line of a job's ledger.
void AppendItemLine(std::string& out, std::int64_t item, std::string_view text);

// Where a page begins, as a word that only we read.
std::string FormatPlace(const ItemPlace& place);
std::optional<ItemPlace> ParsePlace(std::string_view text);

}  // namespace tidemill
