// SPDX-License-Identifier: Apache-2.0
#include "cloud/aws_profile.h"

#include <algorithm>
#include <utility>

namespace tidemill {
namespace {

// "value # comment" has a comment; "a#b" does not.
std::string_view WithoutComment(std::string_view value) {
  for (const std::string_view mark : {" #", " ;", "\t#", "\t;"}) {
    value = value.substr(0, value.find(mark));
  }
  return Trim(value);
}

// A file that is not there has no sections.
Result<IniSections> LoadIni(const std::string& path) {
  const auto text = ReadKeyFile(path);
  if (!text && text.error().code == Code::kNotFound) return IniSections();
  if (!text) return tl::unexpected<Error>(text.error());
  auto sections = ParseIni(*text);
  if (!sections) return While(path, sections.error());
  return sections;
}

std::string PathOf(const CloudWorld& world, std::string_view variable, std::string_view usual) {
  const std::string set = world.Variable(variable);
  return world.InHome(set.empty() ? usual : std::string_view(set));
}

Result<AwsProfile> Load(const CloudWorld& world, const std::string& profile_name, bool must_exist) {
  AwsProfile profile{.name = profile_name};
  profile.credentials_file = PathOf(world, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
  profile.config_file = PathOf(world, "AWS_CONFIG_FILE", "~/.aws/config");
  TIDEMILL_TRY(const IniSections credentials, LoadIni(profile.credentials_file));
  TIDEMILL_TRY(const IniSections config, LoadIni(profile.config_file));
  const auto add = [&profile](const IniSections& sections, const std::string& name) {
    const auto found = sections.find(name);
    if (found == sections.end()) return;
    profile.exists = true;
    profile.settings.insert(found->second.begin(), found->second.end());
  };
  add(credentials, profile.name);
  add(config, "profile " + profile.name);
  if (profile.name == "default") add(config, "default");
  if (must_exist && !profile.exists) {
    return Fail(Code::kInvalid, "profile '" + profile.name + "' is neither in " +
                                    profile.credentials_file + " nor in " + profile.config_file);
  }
  return profile;
}

}  // namespace

Result<IniSections> ParseIni(std::string_view text) {
  IniSections sections;
  std::map<std::string, std::string>* section = nullptr;
  int number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    const std::string_view words = Trim(line);
    if (words.empty() || words[0] == '#' || words[0] == ';') continue;
    if (words[0] == '[') {
      const std::size_t end = words.find(']');
      if (end == words.npos) {
        return Fail(Code::kInvalid, "line " + std::to_string(number) + ": a ']' is missing");
      }
      std::string name(Trim(words.substr(1, end - 1)));
      // "[profile   x]" is "[profile x]".
      if (name.starts_with("profile ") || name.starts_with("profile\t")) {
        name = "profile " + std::string(Trim(std::string_view(name).substr(8)));
      }
      section = &sections[name];
      continue;
    }
    if (line[0] == ' ' || line[0] == '\t') continue;  // goes on with the setting before
    const std::size_t equals = words.find('=');
    if (equals == words.npos || section == nullptr) {
      return Fail(Code::kInvalid, "line " + std::to_string(number) +
                                      ": not a section, a setting of one, or a comment");
    }
    (*section)[std::string(Trim(words.substr(0, equals)))] =
        WithoutComment(words.substr(equals + 1));
  }
  return sections;
}

std::string AwsProfile::Setting(const std::string& setting) const {
  const auto found = settings.find(setting);
  return found == settings.end() ? "" : found->second;
}

Result<AwsProfile> LoadAwsProfile(const CloudWorld& world) {
  const std::string name = world.Variable("AWS_PROFILE");
  return Load(world, name.empty() ? "default" : name, !name.empty());
}

Result<AwsProfile> LoadAwsProfile(const CloudWorld& world, const std::string& name) {
  return Load(world, name, true);
}

std::string AwsRegion(const CloudWorld& world, const AwsProfile& profile) {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    std::string region = world.Variable(name);
    if (!region.empty()) return region;
  }
  return profile.Setting("region");
}

std::string AwsDomain(std::string_view region) {
  return region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

std::string AwsEndpoint(const CloudWorld& world, const AwsProfile& profile,
                        std::string_view service) {
  for (const std::string& name :
       {"AWS_ENDPOINT_URL_" + std::string(service), std::string("AWS_ENDPOINT_URL")}) {
    std::string url = world.Variable(name);
    if (!url.empty()) return url;
  }
  return profile.Setting("endpoint_url");
}

bool IsAwsRegion(std::string_view text) {
  constexpr std::size_t kLongest = 63;  // of a part of a host's name
  return !text.empty() && text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

}  // namespace tidemill
