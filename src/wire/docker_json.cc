// SPDX-License-Identifier: Apache-2.0
#include "wire/docker_json.h"

#include <algorithm>

#include "wire/json.h"

namespace tidemill {
namespace {

using json::Value;

// As long as a line for a person may be.
constexpr std::size_t kEngineMessageBytes = 1000;
constexpr std::size_t kEngineIdBytes = 256;
constexpr std::size_t kWordsMost = 10'000;
constexpr char kBridgeName[] = "com.docker.network.bridge.name";
constexpr char kBridgeIcc[] = "com.docker.network.bridge.enable_icc";

Result<json::Fields> FieldsOf(const Value& value, const json::Path& path) {
  return json::Fields::Of(value, path);
}

// Absent and null are the same to the Engine.
const Value* FindSet(const json::Fields& fields, std::string_view name) {
  const Value* value = fields.Find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<std::vector<std::string>> WordsOf(const json::Fields& fields, std::string_view name) {
  std::vector<std::string> words;
  const Value* value = FindSet(fields, name);
  if (value == nullptr) return words;
  if (!value->is_array() || value->size() > kWordsMost) {
    return json::Wrong(fields.In(name), "must be an array of at most 10,000 strings");
  }
  for (const Value& word : *value) {
    if (!word.is_string()) return json::Wrong(fields.In(name), "must hold strings only");
    words.push_back(word.get_ref<const std::string&>());
  }
  return words;
}

std::string ShortTextOf(const json::Fields& fields, std::string_view name) {
  const Value* value = fields.Find(name);
  if (value == nullptr || !value->is_string()) return "";
  return value->get_ref<const std::string&>().substr(0, kEngineMessageBytes);
}

bool FlagOf(const json::Fields& fields, std::string_view name) {
  const Value* value = fields.Find(name);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

// A part of the Engine that a person wants to know of when it has a hole. Absent if it is not told.
std::string RuncOf(const json::Fields& fields) {
  const Value* components = FindSet(fields, "Components");
  if (components == nullptr || !components->is_array()) return "";
  for (const Value& each : *components) {
    const auto inner = FieldsOf(each, {});
    if (inner && ShortTextOf(*inner, "Name") == "runc") return ShortTextOf(*inner, "Version");
  }
  return "";
}

Value LimitOf(std::string_view name, std::int64_t most) {
  return {{"Name", name}, {"Soft", most}, {"Hard", most}};
}

Value MountOf(const DockerMount& mount) {
  Value value = {{"Source", mount.source}, {"Target", mount.target}, {"ReadOnly", mount.read_only}};
  if (mount.volume.empty()) {
    value["Type"] = "bind";
    // What is mounted below would be writable, also where the folder is not.
    value["BindOptions"] = {{"NonRecursive", true}};
    return value;
  }
  Value options = Value::object();
  for (const auto& [name, option] : mount.volume) options[name] = option;
  value["Type"] = "volume";
  // What the image has at this place is not copied into it.
  value["VolumeOptions"] = {{"NoCopy", true},
                            {"DriverConfig", {{"Name", "local"}, {"Options", std::move(options)}}}};
  return value;
}

// The names that an object has.
Result<std::vector<std::string>> NamesIn(const json::Fields& fields, std::string_view name) {
  std::vector<std::string> names;
  const Value* value = FindSet(fields, name);
  if (value == nullptr) return names;
  if (!value->is_object() || value->size() > kWordsMost) {
    return json::Wrong(fields.In(name), "must be an object of at most 10,000 fields");
  }
  for (const auto& each : value->items()) names.push_back(each.key());
  return names;
}

void AddDevices(const DockerCreate& create, Value& host) {
  for (const std::string& device : create.devices) {
    // Not "m": it may not make further ones.
    host["Devices"].push_back(
        {{"PathOnHost", device}, {"PathInContainer", device}, {"CgroupPermissions", "rw"}});
  }
  for (const DockerDeviceRequest& request : create.device_requests) {
    Value value = {{"Driver", request.driver}, {"DeviceIDs", request.ids}};
    // Any of several lists, of which all must be there.
    if (request.gpu) value["Capabilities"] = Value::array({Value::array({"gpu"})});
    host["DeviceRequests"].push_back(std::move(value));
  }
  if (!create.runtime.empty()) host["Runtime"] = create.runtime;
}

// What differs by the policy of a pool.
void AddPolicy(const DockerCreate& create, Value& host) {
  // Of Docker's own few, these two make raw packets and device files.
  host["CapDrop"] = create.no_capabilities ? Value::array({"ALL"}) : Value({"NET_RAW", "MKNOD"});
  if (!create.read_only_root) return;
  host["ReadonlyRootfs"] = true;
  // Programs are made and run there; what it holds counts as the container's memory.
  host["Tmpfs"] = {
      {"/tmp", "rw,exec,nosuid,nodev,mode=1777,size=" + std::to_string(create.tmp_bytes)}};
}

}  // namespace

Result<DockerVersion> ParseDockerVersion(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const json::Fields fields, FieldsOf(value, {}));
  TIDEMILL_TRY(const auto version, fields.Text("Version", {.most_bytes = 100}));
  TIDEMILL_TRY(const auto api, fields.Text("ApiVersion", {.most_bytes = 20}));
  return DockerVersion{std::string(version), std::string(api), RuncOf(fields)};
}

Result<DockerInfo> ParseDockerInfo(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const json::Fields fields, FieldsOf(value, {}));
  TIDEMILL_TRY(const auto options, WordsOf(fields, "SecurityOptions"));
  DockerInfo info;
  for (const std::string& option : options) {
    // With a remapping of its own it has "name=userns", or "name=userns,..." one day.
    if (option == "name=userns" || option.starts_with("name=userns,")) info.remaps_users = true;
    if (option == "name=rootless") info.rootless = true;
  }
  TIDEMILL_TRY(info.cdi_folders, WordsOf(fields, "CDISpecDirs"));
  TIDEMILL_TRY(info.runtimes, NamesIn(fields, "Runtimes"));
  info.default_runtime = ShortTextOf(fields, "DefaultRuntime");
  return info;
}

Result<DockerNetwork> ParseDockerNetwork(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const json::Fields fields, FieldsOf(value, {}));
  TIDEMILL_TRY(const auto driver, fields.Text("Driver", {.most_bytes = kEngineIdBytes}));
  DockerNetwork network;
  const Value* options = FindSet(fields, "Options");
  if (driver != "bridge" || options == nullptr) return network;
  const json::Path path = fields.In("Options");
  TIDEMILL_TRY(const json::Fields inner, FieldsOf(*options, path));
  network.bridge = ShortTextOf(inner, kBridgeName);
  network.keeps_apart = ShortTextOf(inner, kBridgeIcc) == "false";
  return network;
}

std::string FormatDockerNetwork(const std::string& name, const DockerNetwork& network) {
  const Value body = {
      {"Name", name},
      {"CheckDuplicate", true},
      {"Driver", "bridge"},
      {"Options",
       {{kBridgeName, network.bridge}, {kBridgeIcc, network.keeps_apart ? "false" : "true"}}},
  };
  return body.dump(-1, ' ', false, Value::error_handler_t::replace);
}

Result<DockerImage> ParseDockerImage(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const json::Fields fields, FieldsOf(value, {}));
  TIDEMILL_TRY(const auto id, fields.Text("Id", {.most_bytes = kEngineIdBytes}));
  DockerImage image;
  image.id = id;
  TIDEMILL_TRY(image.digests, WordsOf(fields, "RepoDigests"));
  const Value* config = FindSet(fields, "Config");
  if (config == nullptr) return image;
  const json::Path path = fields.In("Config");
  TIDEMILL_TRY(const json::Fields inner, FieldsOf(*config, path));
  TIDEMILL_TRY(image.entrypoint, WordsOf(inner, "Entrypoint"));
  TIDEMILL_TRY(image.command, WordsOf(inner, "Cmd"));
  return image;
}

Result<DockerState> ParseDockerState(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  TIDEMILL_TRY(const json::Fields fields, FieldsOf(value, {}));
  const Value* state = fields.Find("State");
  const json::Path path = fields.In("State");
  if (state == nullptr) return json::Wrong(path, "is missing");
  TIDEMILL_TRY(const json::Fields inner, FieldsOf(*state, path));
  DockerState out;
  TIDEMILL_TRY(out.running, inner.Flag("Running", std::nullopt));
  TIDEMILL_TRY(out.pid, inner.Int("Pid", {.most = INT32_MAX}));
  TIDEMILL_TRY(out.exit_code, inner.Int("ExitCode", {.least = INT32_MIN, .most = INT32_MAX}));
  out.out_of_memory = FlagOf(inner, "OOMKilled");
  out.error = ShortTextOf(inner, "Error");
  out.image = ShortTextOf(fields, "Image");
  if (const Value* config = FindSet(fields, "Config"); config != nullptr && config->is_object()) {
    const Value* labels = config->contains("Labels") ? &config->at("Labels") : nullptr;
    if (labels != nullptr && labels->is_object()) out.spec = labels->value(kDockerSpecLabel, "");
  }
  const Value* written = FindSet(fields, "SizeRw");
  if (written != nullptr) {
    TIDEMILL_TRY(out.written_bytes, fields.Int("SizeRw", {.most = INT64_MAX}));
  }
  return out;
}

Result<std::vector<std::string>> ParseDockerNames(std::string_view body) {
  TIDEMILL_TRY(const Value value, json::Parse(body));
  if (!value.is_array() || value.size() > kDockerContainersMost) {
    return json::Wrong({}, "must be an array of at most 10,000 containers");
  }
  std::vector<std::string> names;
  for (const Value& each : value) {
    TIDEMILL_TRY(const json::Fields fields, FieldsOf(each, {}));
    TIDEMILL_TRY(const auto id, fields.Text("Id", {.most_bytes = kEngineIdBytes}));
    TIDEMILL_TRY(const auto all, WordsOf(fields, "Names"));
    std::string name = all.empty() ? std::string(id) : all.front();
    if (name.starts_with('/')) name.erase(0, 1);
    names.push_back(std::move(name));
  }
  return names;
}

std::string DockerMessage(std::string_view body) {
  const auto value = json::Parse(body);
  if (value && value->is_object()) {
    const auto fields = FieldsOf(*value, {});
    std::string message = ShortTextOf(*fields, "message");
    if (!message.empty()) return message;
  }
  return std::string(body.substr(0, kEngineMessageBytes));
}

std::optional<DockerPullLine> ParseDockerPullLine(std::string_view line) {
  const auto value = json::Parse(line);
  if (!value || !value->is_object()) return std::nullopt;
  const auto fields = FieldsOf(*value, {});
  DockerPullLine read;
  read.status = ShortTextOf(*fields, "status");
  read.layer = ShortTextOf(*fields, "id");
  if (FindSet(*fields, "error") != nullptr) read.error = ShortTextOf(*fields, "error");
  const Value* detail = FindSet(*fields, "progressDetail");
  if (detail == nullptr || !detail->is_object()) return read;
  const auto numbers = FieldsOf(*detail, {});
  // What is no such number, such as the -1 of a size that nobody knows, is 0.
  read.current = numbers->Int("current", {.absent = 0}).value_or(0);
  read.total = numbers->Int("total", {.absent = 0}).value_or(0);
  return read;
}

std::string FormatDockerAuth(const DockerAuth& auth) {
  std::string out = "{";
  json::AppendText(out, "username", auth.user);
  json::AppendText(out, "password", auth.password);
  json::AppendText(out, "serveraddress", auth.server);
  return out + "}";
}

std::string FormatDockerCreate(const DockerCreate& create) {
  Value mounts = Value::array();
  for (const DockerMount& mount : create.mounts) mounts.push_back(MountOf(mount));
  Value labels = Value::object();
  for (const auto& [name, value] : create.labels) labels[name] = value;
  Value host = {
      {"AutoRemove", true},
      {"CgroupnsMode", "private"},
      {"Init", false},
      {"IpcMode", "private"},
      {"LogConfig", {{"Type", "none"}}},
      {"Mounts", std::move(mounts)},
      {"NetworkMode", create.network},
      // The kernel ends containers before it ends agents, and no process of one can have less.
      {"OomScoreAdj", 500},
      {"PidsLimit", create.pids},
      {"Privileged", false},
      {"RestartPolicy", {{"Name", "no"}}},
      {"SecurityOpt", {"no-new-privileges"}},
      {"Ulimits", Value::array({LimitOf("core", 0), LimitOf("nofile", create.open_files)})},
  };
  AddPolicy(create, host);
  for (const auto& [target, options] : create.tmpfs) host["Tmpfs"][target] = options;
  AddDevices(create, host);
  if (create.nano_cpus > 0) host["NanoCpus"] = create.nano_cpus;
  if (create.memory_bytes > 0) {
    host["Memory"] = create.memory_bytes;
    host["MemorySwap"] = create.memory_bytes;
  }
  if (create.shm_bytes > 0) host["ShmSize"] = create.shm_bytes;
  Value body = {
      {"Image", create.image},
      {"Entrypoint", create.entrypoint},
      {"Cmd", create.command},
      {"Labels", std::move(labels)},
      {"Healthcheck", {{"Test", Value::array({"NONE"})}}},
      {"HostConfig", std::move(host)},
  };
  if (!create.env.empty()) body["Env"] = create.env;
  if (!create.work_folder.empty()) body["WorkingDir"] = create.work_folder;
  return body.dump(-1, ' ', false, Value::error_handler_t::replace);
}

std::string FormatDockerLabelFilter(std::string_view label, std::string_view value) {
  const Value filters = {{"label", Value::array({std::string(label) + "=" + std::string(value)})}};
  return filters.dump(-1, ' ', false, Value::error_handler_t::replace);
}

}  // namespace tidemill
