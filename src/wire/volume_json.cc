// SPDX-License-Identifier: Apache-2.0
#include "wire/volume_json.h"

#include <utility>

#include "base/limits.h"
#include "model/job.h"

namespace tidemill::json {
namespace {

constexpr std::size_t kNfsBytes = 1024;
constexpr std::size_t kMountOptionBytes = 512;

Result<std::string> ReadHost(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view host, fields.Text("host", {.most_bytes = kMountPathBytes}));
  if (!IsFolderPath(host)) {
    return Wrong(fields.In("host"),
                 "must be an absolute path without '.', '..' and '//', below '/'");
  }
  return std::string(host);
}

Result<std::string> ReadNfs(const Fields& fields) {
  TIDEMILL_TRY(const std::string_view nfs, fields.Text("nfs", {.most_bytes = kNfsBytes}));
  if (ParseNfs(nfs).server.empty()) {
    return Wrong(fields.In("nfs"), "must be a server and a folder of it: \"10.0.0.5:/export\"");
  }
  return std::string(nfs);
}

Result<Volume> ReadVolume(const Fields& fields) {
  TIDEMILL_TRY_VOID(fields.Only({"host", "nfs", "options", "readonly"}));
  Volume volume;
  const bool has_nfs = fields.Find("nfs") != nullptr;
  if (has_nfs == (fields.Find("host") != nullptr)) {
    return Wrong(fields.In("host"), "write either 'host' or 'nfs'");
  }
  TIDEMILL_TRY((has_nfs ? volume.nfs : volume.host), has_nfs ? ReadNfs(fields) : ReadHost(fields));
  if (fields.Find("options") != nullptr) {
    TIDEMILL_TRY(volume.options, fields.Text("options", {.most_bytes = kMountOptionBytes}));
    if (!has_nfs) return Wrong(fields.In("options"), "are of an NFS mount");
    if (!IsNfsOptions(volume.options)) {
      return Wrong(fields.In("options"), "must be like \"nfsvers=4.1,hard\", without an address");
    }
  }
  TIDEMILL_TRY(volume.readonly, fields.Flag("readonly", false));
  return volume;
}

Result<VolumeMount> ReadMount(const Fields& fields) {
  TIDEMILL_TRY_VOID(fields.Only({"volume", "path", "readonly"}));
  VolumeMount mount;
  TIDEMILL_TRY(mount.volume, fields.Text("volume", {.most_bytes = limits::kNameBytes}));
  if (!IsName(mount.volume)) return Wrong(fields.In("volume"), "is no name of a volume");
  TIDEMILL_TRY(mount.path, fields.Text("path", {.most_bytes = kMountPathBytes}));
  if (const std::string why = WhyNoMountAt(mount.path); !why.empty()) {
    return Wrong(fields.In("path"), why);
  }
  TIDEMILL_TRY(mount.readonly, fields.Flag("readonly", false));
  return mount;
}

}  // namespace

std::string VolumesText(const Volumes& volumes) {
  std::string out = "{";
  for (const auto& [name, volume] : volumes) {
    std::string one = "{";
    if (!volume.host.empty()) AppendText(one, "host", volume.host);
    if (!volume.nfs.empty()) AppendText(one, "nfs", volume.nfs);
    if (!volume.options.empty()) AppendText(one, "options", volume.options);
    AppendFlag(one, "readonly", volume.readonly);
    AppendValue(out, name, one + "}");
  }
  return out + "}";
}

Result<Volumes> ReadVolumes(const Fields& policy) {
  Volumes volumes;
  const Value* value = policy.Find("volumes");
  if (value == nullptr) return volumes;
  const Path path = policy.In("volumes");
  TIDEMILL_TRY_VOID(Fields::Of(*value, path));
  if (value->size() > kVolumesPerPool) {
    return Wrong(path, "has more than " + std::to_string(kVolumesPerPool) + " volumes");
  }
  for (const auto& [name, one] : value->get_ref<const Value::object_t&>()) {
    if (name.size() > limits::kNameBytes || !IsName(name)) {
      return Wrong(path, Quoted(name.substr(0, limits::kNameBytes)) +
                             " is no name here; they are letters, digits, '.', '_' and '-', and "
                             "begin with a letter or digit");
    }
    const Path inside{&path, name, 0};
    TIDEMILL_TRY(const Fields fields, Fields::Of(one, inside));
    TIDEMILL_TRY(volumes[name], ReadVolume(fields));
  }
  return volumes;
}

Result<std::vector<VolumeMount>> ReadMounts(const Fields& spec) {
  std::vector<VolumeMount> mounts;
  const auto add = [&mounts](const Fields& fields) -> Result<void> {
    TIDEMILL_TRY(VolumeMount mount, ReadMount(fields));
    for (const VolumeMount& other : mounts) {
      if (!Overlap(mount.path, other.path)) continue;
      return Wrong(fields.In("path"), "is in the way of the one at " + other.path);
    }
    mounts.push_back(std::move(mount));
    return {};
  };
  TIDEMILL_TRY_VOID(ReadEach(spec, "mounts", kMountsPerJob, add));
  return mounts;
}

}  // namespace tidemill::json
