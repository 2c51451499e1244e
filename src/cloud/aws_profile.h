// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cloud/world.h"

namespace tidemill {

// The sections of a file such as ~/.aws/config, by name. Settings within a setting are passed over.
using IniSections = std::map<std::string, std::map<std::string, std::string>, std::less<>>;
// kInvalid: a line is none of "[section]", "name = value", a comment; the reason has its number.
Result<IniSections> ParseIni(std::string_view text);

// What AWS's shared files say of one profile.
struct AwsProfile {
  std::string name = {};
  std::string credentials_file = {};  // where they were looked for
  std::string config_file = {};
  bool exists = false;                               // in one of them
  std::map<std::string, std::string> settings = {};  // those of the credentials file win

  std::string Setting(const std::string& name) const;
};

// That of AWS_PROFILE, or "default". kInvalid: a file cannot be read, or AWS_PROFILE names a
// profile that is in neither.
Result<AwsProfile> LoadAwsProfile(const CloudWorld& world);
// That of this name. kInvalid as above.
Result<AwsProfile> LoadAwsProfile(const CloudWorld& world, const std::string& name);

// As AWS_REGION, AWS_DEFAULT_REGION or the profile has it; else empty.
std::string AwsRegion(const CloudWorld& world, const AwsProfile& profile);

// "amazonaws.com", or what it is in China.
std::string AwsDomain(std::string_view region);

// Where somebody said that a service is: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or the profile's
// endpoint_url; empty if nobody did. `service` is in capitals.
std::string AwsEndpoint(const CloudWorld& world, const AwsProfile& profile,
                        std::string_view service);

// Whether it can stand in the name of a host: what others say a region is goes into URLs.
bool IsAwsRegion(std::string_view text);

}  // namespace tidemill
