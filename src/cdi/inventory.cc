// SPDX-License-Identifier: Apache-2.0
#include "cdi/inventory.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace tidemill {
namespace {

using Nodes = std::set<std::string>;

struct Candidate {
  FoundDevice device;
  Nodes nodes;
};

bool IsNumber(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Numbers first, in their order; then what is shorter.
bool GoesBefore(const Candidate& a, const Candidate& b) {
  const auto key = [](const Candidate& one) {
    const std::string& name = one.device.name.device;
    return std::tuple(!IsNumber(name), name.size(), std::string_view(name));
  };
  return key(a) < key(b);
}

std::int64_t NumberOf(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return is_whole ? number : 0;
}

Candidate CandidateOf(const CdiName& name, const CdiDevice& device, const CdiSpec& spec) {
  const auto said = [&](const char* key) {
    const auto own = device.annotations.find(key);
    if (own != device.annotations.end()) return own->second;
    const auto shared = spec.annotations.find(key);
    return shared == spec.annotations.end() ? std::string() : shared->second;
  };
  Candidate found;
  found.device = {.name = name,
                  .model = said(kCdiModel),
                  .memory = NumberOf(said(kCdiMemory)),
                  .driver = said(kCdiDriver),
                  .cuda = said(kCdiCuda),
                  .cores = NumberOf(said(kCdiCores)),
                  .uuid = said(kCdiUuid)};
  for (const CdiNode& node : device.edits.nodes) {
    const std::string& path = node.host_path.empty() ? node.path : node.host_path;
    if (found.nodes.insert(path).second) found.device.nodes.push_back(path);
  }
  return found;
}

// Whether its nodes are just those of smaller ones together.
bool StandsForSeveral(const Candidate& one, const std::vector<Candidate>& others) {
  Nodes covered;
  for (const Candidate& other : others) {
    const bool is_part =
        other.nodes.size() < one.nodes.size() &&
        std::includes(one.nodes.begin(), one.nodes.end(), other.nodes.begin(), other.nodes.end());
    if (is_part) covered.insert(other.nodes.begin(), other.nodes.end());
  }
  return !covered.empty() && covered == one.nodes;
}

// Those of one kind.
std::vector<FoundDevice> Choose(std::vector<Candidate> candidates) {
  std::sort(candidates.begin(), candidates.end(), GoesBefore);
  std::vector<Candidate> distinct;
  std::set<Nodes> seen;
  for (Candidate& one : candidates) {
    // Without nodes there is nothing to tell it from others by, but its name.
    if (one.nodes.empty() || seen.insert(one.nodes).second) distinct.push_back(std::move(one));
  }
  std::vector<FoundDevice> chosen;
  for (const Candidate& one : distinct) {
    if (!StandsForSeveral(one, distinct)) chosen.push_back(one.device);
  }
  return chosen;
}

}  // namespace

std::vector<FoundDevice> InventoryOf(const CdiRegistry& registry) {
  std::map<std::string, std::vector<Candidate>> kinds;
  for (const CdiName& name : registry.Names()) {
    if (name.device == "all") continue;
    kinds[name.kind].push_back(CandidateOf(name, *registry.Find(name), *registry.SpecOf(name)));
  }
  std::vector<FoundDevice> found;
  for (auto& [kind, candidates] : kinds) {
    for (FoundDevice& one : Choose(std::move(candidates))) found.push_back(std::move(one));
  }
  return found;
}

}  // namespace tidemill
