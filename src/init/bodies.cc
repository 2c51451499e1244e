// SPDX-License-Identifier: Apache-2.0
#include "init/bodies.h"

#include "frame/frame.h"
#include "frame/json.h"
#include "frame/text.h"

namespace tidemill::init {
namespace {

using frame::JsonReader;

bool TakeResult(JsonReader& reader, ItemResult& result) {
  bool has_item = false;
  bool has_exit = false;
  bool has_error = false;
  const bool good = reader.Object([&](const std::string& name) {
    if (name == "item" && !has_item) {
      has_item = true;
      return reader.Whole(result.item);
    }
    if (name == "exit" && !has_exit) {
      has_exit = true;
      std::uint64_t exit = 0;
      const bool fits = reader.Whole(exit) && exit <= frame::kExitMost;
      result.exit = static_cast<std::int32_t>(exit);
      return fits;
    }
    if (name == "error" && !has_error) {
      has_error = true;
      return reader.Text(result.error);
    }
    if (name == "result" && result.result.empty()) {
      return reader.Raw(result.result) && result.result.size() <= frame::kResultBytes;
    }
    return false;
  });
  return good && has_item;
}

}  // namespace

std::optional<std::vector<ItemResult>> ReadResults(std::string_view body) {
  std::vector<ItemResult> results;
  if (body.empty()) return results;
  JsonReader reader(body);
  bool has_results = false;
  const bool good = reader.Object([&](const std::string& name) {
    if (name != "results" || has_results) return false;
    has_results = true;
    return reader.Array([&] {
      results.emplace_back();
      return TakeResult(reader, results.back());
    });
  });
  if (!good || !reader.AtEnd()) return std::nullopt;
  return results;
}

std::optional<ItemProgress> ReadProgress(std::string_view body) {
  ItemProgress progress;
  JsonReader reader(body);
  bool has_fraction = false;
  bool has_note = false;
  const bool good = reader.Object([&](const std::string& name) {
    if (name == "item" && !progress.item) {
      progress.item = 0;
      return reader.Whole(*progress.item);
    }
    if (name == "fraction" && !has_fraction) {
      has_fraction = true;
      double fraction = 0;
      if (!reader.Number(fraction) || !(fraction >= 0 && fraction <= 1)) return false;
      progress.permille = static_cast<std::int32_t>(fraction * 1000 + 0.5);
      return true;
    }
    if (name == "note" && !has_note) {
      has_note = true;
      std::string text;
      if (!reader.Text(text)) return false;
      progress.note = frame::LineOf(frame::CutText(text, frame::kNoteBytes));
      return true;
    }
    return false;
  });
  if (!good || !reader.AtEnd() || (!has_fraction && !has_note)) return std::nullopt;
  return progress;
}

}  // namespace tidemill::init
