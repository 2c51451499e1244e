// SPDX-License-Identifier: Apache-2.0
#include "wire/secret_uses.h"

#include <set>
#include <string_view>

#include "model/job.h"
#include "wire/spec_value.h"

namespace tidemill::json {
namespace {

constexpr std::string_view kName =
    "must be letters, digits, '.', '_' and '-', at most 64, and begin with a letter or digit";
constexpr std::string_view kVariable =
    "must be letters, digits and '_', at most 64, not beginning with a digit";

Result<std::string> ReadName(const Fields& use, std::string_view field) {
  TIDEMILL_TRY(const std::string_view name, use.Text(field, {.most_bytes = limits::kNameBytes}));
  if (!IsName(name)) return Wrong(use.In(field), kName);
  return std::string(name);
}

Result<std::string> ReadVariable(const Fields& use) {
  TIDEMILL_TRY(const std::string_view name, use.Text("env", {.most_bytes = limits::kNameBytes}));
  if (!IsVariable(name)) return Wrong(use.In("env"), kVariable);
  return std::string(name);
}

Result<SecretUse> ReadObject(const Value& value, const Path& path) {
  TIDEMILL_TRY(const Fields use, Fields::Of(value, path));
  TIDEMILL_TRY_VOID(use.Only({"name", "env", "file"}));
  const bool has_env = use.Find("env") != nullptr;
  if (has_env == (use.Find("file") != nullptr)) {
    return Wrong(path, "say either 'env', the variable that holds it, or 'file', its file's name");
  }
  SecretUse read;
  TIDEMILL_TRY(read.secret, ReadName(use, "name"));
  if (has_env) {
    TIDEMILL_TRY(read.env, ReadVariable(use));
  } else {
    TIDEMILL_TRY(read.file, ReadName(use, "file"));
  }
  return read;
}

// A bare name is a secret and, at the same time, the variable that holds it.
Result<SecretUse> ReadBare(const std::string& name, const Path& path) {
  if (name.size() <= limits::kNameBytes && IsVariable(name) && IsName(name)) {
    return SecretUse{.secret = name, .env = name, .file = ""};
  }
  if (!IsName(name)) return Wrong(path, kName);
  return Wrong(path, "'" + name + "' cannot be a variable; write {name: " + name +
                         ", env: VARIABLE} or {name: " + name + ", file: FILE}");
}

// What the items could not all have at the same time.
Result<void> CheckVariable(const std::string& name, const std::map<std::string, std::string>& env,
                           const Path& path) {
  if (name.starts_with("TIDEMILL_")) {
    return Wrong(path, "names with TIDEMILL_ are set by tidemill itself; choose another 'env'");
  }
  if (env.contains(name)) {
    return Wrong(path, "the variable '" + name + "' is set by 'env' too; remove one of the two");
  }
  return {};
}

}  // namespace

Result<std::vector<SecretUse>> ReadSecretUses(const Fields& spec,
                                              const std::map<std::string, std::string>& env) {
  TIDEMILL_TRY(const Value* array, spec.Array("secrets", limits::kSecretsPerJob));
  std::vector<SecretUse> uses;
  if (array == nullptr) return uses;
  const Path in_array = spec.In("secrets");
  std::set<std::string> variables;
  std::set<std::string> files;
  for (const Value& value : *array) {
    const Path path{&in_array, {}, uses.size()};
    TIDEMILL_TRY(SecretUse use, value.is_string()
                                    ? ReadBare(value.get_ref<const std::string&>(), path)
                                    : ReadObject(value, path));
    if (!use.env.empty()) TIDEMILL_TRY_VOID(CheckVariable(use.env, env, path));
    const bool is_new =
        use.file.empty() ? variables.insert(use.env).second : files.insert(use.file).second;
    if (!is_new) {
      return Wrong(path, "another secret has the " +
                             (use.file.empty() ? "variable '" + use.env : "file '" + use.file) +
                             "' already; give this one another");
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

Result<std::string> ReadImageLogin(const Fields& spec) {
  if (spec.Find("image_login") == nullptr) return std::string();
  TIDEMILL_TRY(std::string name, ReadName(spec, "image_login"));
  if (spec.Find("image") == nullptr) {
    return Wrong(spec.In("image_login"), "there is no 'image' that it could be for");
  }
  return name;
}

}  // namespace tidemill::json
