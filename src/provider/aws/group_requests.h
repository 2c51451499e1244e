// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cloud/aws_query.h"
#include "model/pool.h"
#include "provider/aws/group.h"
#include "wire/aws_json.h"

namespace tidemill {

// The calls that are made of AWS, as values. Pure.

// A pool with all that it says of its machines.
struct AwsSettings {
  AwsGroup group = {};
  AwsPool said = {};
  std::int64_t max = 0;  // machines
  std::int64_t spot_percent = 0;
};

// `region` is for a pool that names none. kInvalid: what the pool says is wrong, or not enough to
// make machines of; for whoever wrote it.
Result<AwsSettings> AwsSettingsOf(const PoolSettings& pool, const std::string& region);
// The group alone, which is enough to look at it. kInvalid as above.
Result<AwsGroup> AwsGroupOf(const PoolSettings& pool, const std::string& region);

// "arm64" or "x86_64", as the name of a type tells.
std::string ArchitectureOf(const std::string& type);

// A launch template. There is one for each image, since a group has types of several architectures.
struct AwsTemplate {
  std::string name = {};
  std::string image = {};
  std::vector<std::string> types = {};
};
// The first is the group's own; the others are for some of its types. kInvalid: a type has no
// image.
Result<std::vector<AwsTemplate>> AwsTemplatesOf(const AwsSettings& settings);

// What a template says, without its name. `root` is the device of the image's root.
HttpFields TemplateData(const AwsSettings& settings, const AwsTemplate& a_template,
                        const std::string& root);
// Of what a template says; stands in its description, so that the same is not said again.
std::string TemplateMark(const HttpFields& data);

AwsAction DescribeImages(const AwsGroup& group, const std::vector<AwsTemplate>& templates);
AwsAction DescribeTemplate(const AwsGroup& group, const std::string& name);
AwsAction CreateTemplate(const AwsSettings& settings, const std::string& name,
                         const HttpFields& data);
// `after` is the number of the version that is there: it makes the call idempotent.
AwsAction CreateTemplateVersion(const AwsGroup& group, const std::string& name,
                                const HttpFields& data, const std::string& after);
AwsAction DescribeTemplatesOf(const AwsGroup& group);
AwsAction DeleteTemplate(const AwsGroup& group, const std::string& id);

AwsAction DescribeGroup(const AwsGroup& group);
AwsAction CreateGroup(const AwsSettings& settings, const std::vector<AwsTemplate>& templates);
// Its target stays as it is.
AwsAction UpdateGroup(const AwsSettings& settings, const std::vector<AwsTemplate>& templates);
AwsAction TagGroup(const AwsSettings& settings);
// No machine is ended by the group itself, and none is replaced.
AwsAction SuspendProcesses(const AwsGroup& group);
AwsAction DeleteGroup(const AwsGroup& group);

AwsAction DescribeInstances(const AwsGroup& group);
AwsAction DescribeActivities(const AwsGroup& group);
AwsAction SetTarget(const AwsGroup& group, std::int64_t target);
AwsAction NameInstance(const AwsGroup& group, const std::string& id, const std::string& name);
// Only if it still has this name.
AwsAction UnnameInstance(const AwsGroup& group, const std::string& id, const std::string& name);
// The target falls with it, so that no other comes in its place.
AwsAction EndInGroup(const AwsGroup& group, const std::string& id);
AwsAction EndOutside(const AwsGroup& group, const std::string& id);

}  // namespace tidemill
