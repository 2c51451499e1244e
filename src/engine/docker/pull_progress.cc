// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/pull_progress.h"

#include <algorithm>

namespace tidemill {
namespace {

// The Engine takes no image with more than 127 layers.
constexpr std::size_t kLayersMost = 128;
constexpr std::size_t kIdBytes = 64;
// No layer is larger, and the sum of the most of them fits.
constexpr std::int64_t kLayerBytesMost = std::int64_t{1} << 50;

// What is announced before its bytes come. Other lines with an id are not about a layer: the first
// one has the tag there.
bool BeginsLayer(const std::string& status) {
  return status == "Pulling fs layer" || status == "Waiting" || status == "Downloading";
}

std::string MegabytesText(std::int64_t bytes) { return std::to_string(bytes / 1'000'000); }

}  // namespace

void PullProgress::Add(const DockerPullLine& line) {
  if (line.layer.empty() || line.layer.size() > kIdBytes) return;
  if (BeginsLayer(line.status) && layers_.size() < kLayersMost) layers_.try_emplace(line.layer);
  const auto found = layers_.find(line.layer);
  if (found == layers_.end()) return;
  Layer& layer = found->second;
  const std::int64_t total = std::min(line.total, kLayerBytesMost);
  const std::int64_t current = std::min(line.current, total > 0 ? total : kLayerBytesMost);
  if (total > 0) layer.bytes = total;
  if (line.status == "Downloading") {
    layer.got = current;
  } else if (line.status == "Verifying Checksum" || line.status == "Download complete") {
    layer.is_here = true;
  } else if (line.status == "Extracting") {
    layer.is_here = true;
    layer.unpacked = current;
  } else if (line.status == "Pull complete") {
    layer.is_here = layer.is_unpacked = true;
  } else if (line.status == "Already exists") {
    layers_.erase(found);
  }
}

std::string PullProgress::Text() const {
  std::int64_t bytes = 0;
  std::int64_t got = 0;
  std::int64_t unpacked = 0;
  bool all_here = !layers_.empty();
  bool all_known = true;
  for (const auto& [id, layer] : layers_) {
    // Small ones come whole, and nobody says how large they are.
    all_known = all_known && (layer.bytes > 0 || layer.is_here);
    all_here = all_here && layer.is_here;
    const std::int64_t size = std::max(layer.bytes, layer.got);
    bytes += size;
    got += layer.is_here ? size : layer.got;
    unpacked += layer.is_unpacked ? size : std::min(layer.unpacked, size);
  }
  std::string text = all_here ? "unpacking its image" : "pulling its image";
  if (bytes == 0) return text;
  text += ": " + MegabytesText(all_here ? unpacked : got);
  text += all_known ? " of " : " of at least ";
  return text + MegabytesText(bytes) + " MB";
}

}  // namespace tidemill
