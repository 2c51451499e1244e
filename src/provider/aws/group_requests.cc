// SPDX-License-Identifier: Apache-2.0
#include "provider/aws/group_requests.h"

#include "base/bytes.h"
#include "base/digest.h"

namespace tidemill {
namespace {

// As many as AWS gives; fewer would be more calls.
constexpr char kPageRows[] = "1000";
// More than one try of a group makes.
constexpr char kActivities[] = "30";
constexpr char kTrue[] = "true";
constexpr char kLatest[] = "$Latest";

using Tags = std::map<std::string, std::string>;

AwsAction Ec2(const AwsGroup& group, std::string name, HttpFields params = {}) {
  return {"ec2", group.region, std::move(name), std::move(params)};
}

AwsAction Scaling(const AwsGroup& group, std::string name, HttpFields params = {}) {
  params.insert(params.begin(), {"AutoScalingGroupName", group.name});
  return {"autoscaling", group.region, std::move(name), std::move(params)};
}

void Add(HttpFields& params, const std::string& before, const HttpFields& more) {
  for (const auto& [name, value] : more) params.emplace_back(before + name, value);
}

Tags TagsOf(const AwsSettings& settings) {
  Tags tags = settings.said.tags;
  tags[kProjectTag] = settings.group.project;
  tags[kPoolTag] = settings.group.pool;
  return tags;
}

// As EC2 has them.
HttpFields TagFields(const std::string& resource, const Tags& tags) {
  HttpFields fields{{"ResourceType", resource}};
  int number = 0;
  for (const auto& [key, value] : tags) {
    const std::string tag = "Tag." + std::to_string(++number) + ".";
    fields.emplace_back(tag + "Key", key);
    fields.emplace_back(tag + "Value", value);
  }
  return fields;
}

// As Auto Scaling has them. Instances get them when they are launched.
HttpFields GroupTags(const AwsSettings& settings) {
  HttpFields fields;
  int number = 0;
  for (const auto& [key, value] : TagsOf(settings)) {
    Add(fields, "Tags.member." + std::to_string(++number) + ".",
        {{"ResourceId", settings.group.name},
         {"ResourceType", "auto-scaling-group"},
         {"Key", key},
         {"Value", value},
         {"PropagateAtLaunch", kTrue}});
  }
  return fields;
}

HttpFields PoolFilters(const AwsGroup& group) {
  return {{"Filter.1.Name", std::string("tag:") + kProjectTag},
          {"Filter.1.Value.1", group.project},
          {"Filter.2.Name", std::string("tag:") + kPoolTag},
          {"Filter.2.Value.1", group.pool}};
}

// What is the same for a new group and one that is changed.
HttpFields GroupFields(const AwsSettings& settings, const std::vector<AwsTemplate>& templates) {
  std::string subnets;
  for (const std::string& each : settings.said.subnets) {
    subnets.append(subnets.empty() ? "" : ",").append(each);
  }
  HttpFields fields{{"MinSize", "0"},
                    {"MaxSize", std::to_string(settings.max)},
                    {"VPCZoneIdentifier", subnets},
                    {"NewInstancesProtectedFromScaleIn", kTrue}};
  const std::string policy = "MixedInstancesPolicy.";
  const auto use = [](const AwsTemplate& each) {
    return HttpFields{{"LaunchTemplateSpecification.LaunchTemplateName", each.name},
                      {"LaunchTemplateSpecification.Version", kLatest}};
  };
  Add(fields, policy + "LaunchTemplate.", use(templates.front()));
  int number = 0;
  // In the order in which they were said: on demand, the first that can be had is taken.
  for (const std::string& type : settings.said.types) {
    const std::string place =
        policy + "LaunchTemplate.Overrides.member." + std::to_string(++number) + ".";
    fields.emplace_back(place + "InstanceType", type);
    for (std::size_t i = 1; i < templates.size(); ++i) {
      for (const std::string& other : templates[i].types) {
        if (other == type) Add(fields, place, use(templates[i]));
      }
    }
  }
  Add(fields, policy + "InstancesDistribution.",
      {{"OnDemandAllocationStrategy", "prioritized"},
       {"OnDemandBaseCapacity", "0"},
       {"OnDemandPercentageAboveBaseCapacity", std::to_string(100 - settings.spot_percent)},
       {"SpotAllocationStrategy", "price-capacity-optimized"}});
  return fields;
}

}  // namespace

// --- the template ---

HttpFields TemplateData(const AwsSettings& settings, const AwsTemplate& a_template,
                        const std::string& root) {
  const AwsPool& said = settings.said;
  HttpFields data{{"ImageId", a_template.image},
                  {"InstanceInitiatedShutdownBehavior", "terminate"},
                  // A container is one hop further away than the machine.
                  {"MetadataOptions.HttpEndpoint", "enabled"},
                  {"MetadataOptions.HttpTokens", "required"},
                  {"MetadataOptions.HttpPutResponseHopLimit", "1"},
                  {"MetadataOptions.InstanceMetadataTags", "enabled"}};
  if (!said.key.empty()) data.emplace_back("KeyName", said.key);
  if (!said.role.empty()) {
    const bool is_arn = said.role.starts_with("arn:");
    data.emplace_back(is_arn ? "IamInstanceProfile.Arn" : "IamInstanceProfile.Name", said.role);
  }
  if (!said.user_data.empty()) data.emplace_back("UserData", EncodeBase64(said.user_data));
  if (said.disk_gb) {
    Add(data, "BlockDeviceMapping.1.",
        {{"DeviceName", root},
         {"Ebs.VolumeSize", std::to_string(*said.disk_gb)},
         {"Ebs.VolumeType", "gp3"},
         {"Ebs.DeleteOnTermination", kTrue}});
  }
  int number = 0;
  for (const std::string& each : said.security_groups) {
    data.emplace_back("SecurityGroupId." + std::to_string(++number), each);
  }
  Add(data, "TagSpecification.1.", TagFields("volume", TagsOf(settings)));
  return data;
}

std::string TemplateMark(const HttpFields& data) {
  std::string text;
  for (const auto& [name, value] : data) {
    text.append(name).append("=").append(PercentEncode(value)).append("\n");
  }
  return "tidemill " + Hex(Sha256(text));
}

AwsAction DescribeImages(const AwsGroup& group, const std::vector<AwsTemplate>& templates) {
  HttpFields params;
  for (const AwsTemplate& each : templates) {
    params.emplace_back("ImageId." + std::to_string(params.size() + 1), each.image);
  }
  return Ec2(group, "DescribeImages", std::move(params));
}

AwsAction DescribeTemplate(const AwsGroup& group, const std::string& name) {
  return Ec2(group, "DescribeLaunchTemplateVersions",
             {{"LaunchTemplateName", name}, {"LaunchTemplateVersion.1", kLatest}});
}

AwsAction CreateTemplate(const AwsSettings& settings, const std::string& name,
                         const HttpFields& data) {
  HttpFields params{{"LaunchTemplateName", name}, {"VersionDescription", TemplateMark(data)}};
  Add(params, "TagSpecification.1.", TagFields("launch-template", TagsOf(settings)));
  Add(params, "LaunchTemplateData.", data);
  return Ec2(settings.group, "CreateLaunchTemplate", std::move(params));
}

AwsAction CreateTemplateVersion(const AwsGroup& group, const std::string& name,
                                const HttpFields& data, const std::string& after) {
  const std::string mark = TemplateMark(data);
  HttpFields params{{"LaunchTemplateName", name},
                    {"VersionDescription", mark},
                    {"ClientToken", mark.substr(mark.size() - 40) + "-" + after}};
  Add(params, "LaunchTemplateData.", data);
  return Ec2(group, "CreateLaunchTemplateVersion", std::move(params));
}

AwsAction DescribeTemplatesOf(const AwsGroup& group) {
  return Ec2(group, "DescribeLaunchTemplates", PoolFilters(group));
}

AwsAction DeleteTemplate(const AwsGroup& group, const std::string& id) {
  return Ec2(group, "DeleteLaunchTemplate", {{"LaunchTemplateId", id}});
}

// --- the group ---

AwsAction DescribeGroup(const AwsGroup& group) {
  return {"autoscaling",
          group.region,
          "DescribeAutoScalingGroups",
          {{"AutoScalingGroupNames.member.1", group.name}}};
}

AwsAction CreateGroup(const AwsSettings& settings, const std::vector<AwsTemplate>& templates) {
  HttpFields fields = GroupFields(settings, templates);
  fields.emplace_back("DesiredCapacity", "0");
  Add(fields, "", GroupTags(settings));
  return Scaling(settings.group, "CreateAutoScalingGroup", std::move(fields));
}

AwsAction UpdateGroup(const AwsSettings& settings, const std::vector<AwsTemplate>& templates) {
  return Scaling(settings.group, "UpdateAutoScalingGroup", GroupFields(settings, templates));
}

AwsAction TagGroup(const AwsSettings& settings) {
  return {"autoscaling", settings.group.region, "CreateOrUpdateTags", GroupTags(settings)};
}

AwsAction SuspendProcesses(const AwsGroup& group) {
  return Scaling(group, "SuspendProcesses",
                 {{"ScalingProcesses.member.1", "AZRebalance"},
                  {"ScalingProcesses.member.2", "ReplaceUnhealthy"}});
}

AwsAction DeleteGroup(const AwsGroup& group) { return Scaling(group, "DeleteAutoScalingGroup"); }

// --- its machines ---

AwsAction DescribeInstances(const AwsGroup& group) {
  // One that leaves its group loses the group's tag, but not ours.
  HttpFields params = PoolFilters(group);
  if (group.adopted) {
    params = {{"Filter.1.Name", "tag:aws:autoscaling:groupName"}, {"Filter.1.Value.1", group.name}};
  }
  params.emplace_back("MaxResults", kPageRows);
  return Ec2(group, "DescribeInstances", std::move(params));
}

AwsAction DescribeActivities(const AwsGroup& group) {
  return Scaling(group, "DescribeScalingActivities", {{"MaxRecords", kActivities}});
}

AwsAction SetTarget(const AwsGroup& group, std::int64_t target) {
  return Scaling(group, "SetDesiredCapacity",
                 {{"DesiredCapacity", std::to_string(target)}, {"HonorCooldown", "false"}});
}

AwsAction NameInstance(const AwsGroup& group, const std::string& id, const std::string& name) {
  return Ec2(group, "CreateTags",
             {{"ResourceId.1", id}, {"Tag.1.Key", kMachineTag}, {"Tag.1.Value", name}});
}

AwsAction UnnameInstance(const AwsGroup& group, const std::string& id, const std::string& name) {
  return Ec2(group, "DeleteTags",
             {{"ResourceId.1", id}, {"Tag.1.Key", kMachineTag}, {"Tag.1.Value", name}});
}

AwsAction EndInGroup(const AwsGroup& group, const std::string& id) {
  return {"autoscaling",
          group.region,
          "TerminateInstanceInAutoScalingGroup",
          {{"InstanceId", id}, {"ShouldDecrementDesiredCapacity", kTrue}}};
}

AwsAction EndOutside(const AwsGroup& group, const std::string& id) {
  return Ec2(group, "TerminateInstances", {{"InstanceId.1", id}});
}

}  // namespace tidemill
