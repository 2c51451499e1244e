// SPDX-License-Identifier: Apache-2.0
#include "model/places.h"

namespace tidemill {
namespace {

std::string Below(std::string_view objects) {
  while (objects.ends_with('/')) objects.remove_suffix(1);
  return std::string(objects) + "/";
}

}  // namespace

std::string JobPlace(std::string_view objects, const Job& job) {
  return Below(objects) + "jobs/" + job.project + "/" + UniqueId(job) + "/";
}

std::string BlobPlace(std::string_view objects, std::string_view project, std::string_view sha256) {
  return Below(objects).append("blobs/").append(project).append("/").append(sha256);
}

}  // namespace tidemill
