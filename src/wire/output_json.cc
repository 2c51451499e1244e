// SPDX-License-Identifier: Apache-2.0
#include "wire/output_json.h"

#include "wire/json.h"

namespace tidemill {

std::string FormatPointer(const OutputOwner& owner, const std::vector<PointedFile>& files) {
  std::string out = "{";
  json::AppendText(out, "job", owner.job);
  json::AppendNumber(out, "item", owner.item);
  json::AppendNumber(out, "round", owner.round);
  json::AppendText(out, "attempt", owner.attempt);
  out.append(",\"files\":[");
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i > 0) out.push_back(',');
    std::string file = "{";
    json::AppendText(file, "name", files[i].name);
    json::AppendNumber(file, "bytes", files[i].size_bytes);
    out.append(file).push_back('}');
  }
  return out.append("]}");
}

}  // namespace tidemill
