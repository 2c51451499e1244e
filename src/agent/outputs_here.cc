// SPDX-License-Identifier: Apache-2.0
#include "agent/outputs_here.h"

#include <utility>

namespace tidemill {

std::string HereUrl(std::string_view folder, std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != url.npos) url.remove_prefix(scheme + 3);
  while (url.starts_with('/')) url.remove_prefix(1);
  return "file://" + std::string(folder) + "/" + std::string(url);
}

DataWork OutputsHere::Here(DataWork work) const {
  for (DataOutput& output : work.outputs) output.url = HereUrl(folder_, output.url);
  work.exists = OutputExists::kReplace;
  return work;
}

void OutputsHere::Fetch(const DataPlace& place, DataWork work, Done<void> done) {
  data_.Fetch(place, Here(std::move(work)), std::move(done));
}

void OutputsHere::Store(const DataPlace& place, DataWork work, OutputOwner owner, Done<void> done) {
  data_.Store(place, Here(std::move(work)), std::move(owner), std::move(done));
}

void OutputsHere::Exist(DataWork, Done<bool> done) {
  loop_.After(Duration{}, [done = std::move(done)] { done(false); });
}

}  // namespace tidemill
