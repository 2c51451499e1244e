// SPDX-License-Identifier: Apache-2.0
#include "cdi/registry.h"

#include <set>
#include <utility>

namespace tidemill {
namespace {

void Append(CdiEdits& to, const CdiEdits& from) {
  const auto append = [](auto& list, const auto& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  append(to.env, from.env);
  append(to.nodes, from.nodes);
  append(to.mounts, from.mounts);
  append(to.hooks, from.hooks);
  append(to.groups, from.groups);
}

}  // namespace

CdiRegistry::CdiRegistry(std::vector<CdiFile> files) : files_(std::move(files)) {
  std::map<CdiName, std::vector<Place>> all;  // of each name, those of the highest priority
  for (std::size_t file = 0; file < files_.size(); ++file) {
    const CdiFile& one = files_[file];
    if (!one.spec) {
      troubles_.push_back(one.path + ": " + one.spec.error().reason);
      continue;
    }
    for (std::size_t device = 0; device < one.spec->devices.size(); ++device) {
      auto& places = all[{one.spec->kind, one.spec->devices[device].name}];
      const int before = places.empty() ? one.priority : files_[places.front().file].priority;
      if (one.priority < before) continue;
      if (one.priority > before) places.clear();
      places.push_back({file, device});
    }
  }
  for (const auto& [name, places] : all) {
    if (places.size() == 1) {
      places_.emplace(name, places.front());
      continue;
    }
    troubles_.push_back(files_[places[0].file].path + " and " + files_[places[1].file].path +
                        " both have " + FormatCdiName(name));
  }
}

std::vector<CdiName> CdiRegistry::Names() const {
  std::vector<CdiName> names;
  names.reserve(places_.size());
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

const CdiDevice* CdiRegistry::Find(const CdiName& name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) return nullptr;
  return &files_[found->second.file].spec->devices[found->second.device];
}

const CdiSpec* CdiRegistry::SpecOf(const CdiName& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &*files_[found->second.file].spec;
}

Result<CdiEdits> CdiRegistry::EditsOf(const std::vector<std::string>& names) const {
  CdiEdits edits;
  std::set<const CdiSpec*> specs;
  std::set<CdiName> seen;
  for (const std::string& text : names) {
    const auto name = ParseCdiName(text);
    if (!name) {
      return Fail(Code::kInvalid,
                  "'" + text.substr(0, 200) + "' is no device; write vendor.com/class=name");
    }
    const CdiDevice* device = Find(*name);
    if (device == nullptr) {
      std::string why = "no spec has the device " + text;
      for (const std::string& trouble : troubles_) why.append("; ").append(trouble);
      return Fail(Code::kNotFound, std::move(why));
    }
    if (!seen.insert(*name).second) continue;
    const CdiSpec* spec = SpecOf(*name);
    if (specs.insert(spec).second) Append(edits, spec->edits);
    Append(edits, device->edits);
  }
  return edits;
}

}  // namespace tidemill
