// SPDX-License-Identifier: Apache-2.0
#include "wire/checkpoint_json.h"

#include "wire/json.h"

namespace tidemill {

std::string FormatSave(const std::vector<SavedFile>& files) {
  std::string out = "{\"files\":[";
  for (const SavedFile& saved : files) {
    if (!out.ends_with('[')) out.push_back(',');
    std::string file = "{";
    json::AppendText(file, "name", saved.name);
    json::AppendText(file, "object", saved.object);
    json::AppendNumber(file, "bytes", saved.size_bytes);
    out.append(file).push_back('}');
  }
  return out.append("]}");
}

Result<std::vector<SavedFile>> ParseSave(std::string_view text) {
  constexpr std::size_t kNameBytes = 1024;  // as long as an object's may be
  TIDEMILL_TRY(const json::Value value, json::Parse(text));
  TIDEMILL_TRY(const json::Fields fields, json::Fields::Of(value, {}));
  std::vector<SavedFile> files;
  TIDEMILL_TRY_VOID(json::ReadEach(
      fields, "files", kCheckpointFiles, [&files](const json::Fields& each) -> Result<void> {
        SavedFile& file = files.emplace_back();
        TIDEMILL_TRY(file.name, each.Text("name", {.most_bytes = kNameBytes}));
        TIDEMILL_TRY(file.object, each.Text("object", {.most_bytes = kNameBytes}));
        TIDEMILL_TRY(file.size_bytes, each.Int("bytes", {}));
        return {};
      }));
  return files;
}

}  // namespace tidemill
