// SPDX-License-Identifier: Apache-2.0
// What a pool says, as far as no call is made of it yet.
#include <algorithm>

#include "cloud/aws_profile.h"
#include "provider/aws/group_requests.h"

namespace tidemill {
namespace {

// Of a launch template's name, which is a group's and a type's.
constexpr std::size_t kNameMost = 128;

// As many machines as there may be, whatever the pool counts in.
std::int64_t MostMachines(const PoolMachines& machines) {
  if (machines.unit == SizeUnit::kMachines) return machines.max;
  return machines.max * 1000 / std::max<std::int64_t>(machines.shape.millicpus, 1);
}

Result<void> CheckEnough(const AwsPool& said) {
  const auto missing = [](const std::string& what) {
    return Fail(Code::kInvalid, "options." + what);
  };
  if (said.types.empty()) return missing("types: say which there may be, as in [m7i.large]");
  if (said.images.empty()) return missing("image: say which the machines come up from (an AMI)");
  if (said.subnets.empty()) return missing("subnets: say in which the machines are");
  return {};
}

}  // namespace

std::string ArchitectureOf(const std::string& type) {
  // "m7gd.large": a family, its generation, what is special of it. g is for Graviton there.
  const std::string family = type.substr(0, type.find('.'));
  const std::size_t generation = family.find_first_of("0123456789");
  if (generation == std::string::npos) return "x86_64";
  const bool is_arm = family == "a1" || family.find('g', generation) != std::string::npos;
  return is_arm ? "arm64" : "x86_64";
}

Result<AwsGroup> AwsGroupOf(const PoolSettings& pool, const std::string& region) {
  TIDEMILL_TRY(const AwsPool said, ParseAwsPool(pool.machines.options));
  AwsGroup group{.region = said.region.empty() ? region : said.region,
                 .name = said.group,
                 .project = pool.pool.project,
                 .pool = pool.pool.name,
                 .adopted = !said.group.empty()};
  if (group.region.empty()) {
    return Fail(Code::kInvalid, "options.region: say where the machines are, as in eu-west-1");
  }
  if (!IsAwsRegion(group.region)) {
    return Fail(Code::kInvalid, "options.region: '" + group.region + "' is not a region of AWS");
  }
  if (!group.adopted) group.name = "tidemill-" + group.project + "-" + group.pool;
  return group;
}

Result<AwsSettings> AwsSettingsOf(const PoolSettings& pool, const std::string& region) {
  AwsSettings settings;
  TIDEMILL_TRY(settings.group, AwsGroupOf(pool, region));
  TIDEMILL_TRY(settings.said, ParseAwsPool(pool.machines.options));
  settings.max = MostMachines(pool.machines);
  settings.spot_percent = settings.said.spot_percent.value_or(pool.machines.spot ? 100 : 0);
  if (settings.group.adopted) return settings;
  TIDEMILL_TRY_VOID(CheckEnough(settings.said));
  TIDEMILL_TRY_VOID(AwsTemplatesOf(settings));
  return settings;
}

Result<std::vector<AwsTemplate>> AwsTemplatesOf(const AwsSettings& settings) {
  std::vector<AwsTemplate> templates;
  const auto& images = settings.said.images;
  for (const std::string& type : settings.said.types) {
    auto image = images.find(type);
    if (image == images.end()) image = images.find(ArchitectureOf(type));
    if (image == images.end()) image = images.find("");
    if (image == images.end()) {
      return Fail(Code::kInvalid, "options.image: there is none for " + type + ", which is " +
                                      ArchitectureOf(type));
    }
    const auto is_same = [&image](const AwsTemplate& each) { return each.image == image->second; };
    auto found = std::find_if(templates.begin(), templates.end(), is_same);
    if (found == templates.end()) {
      const std::string more = templates.empty() ? "" : "-" + image->first;
      found = templates.insert(found, {settings.group.name + more, image->second, {}});
      if (found->name.size() > kNameMost) {
        return Fail(Code::kInvalid, "the names of project and pool are too long for AWS: '" +
                                        found->name + "' has more than 128 bytes");
      }
    }
    found->types.push_back(type);
  }
  return templates;
}

}  // namespace tidemill
