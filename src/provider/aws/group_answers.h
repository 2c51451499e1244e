// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/xml.h"
#include "provider/aws/group.h"

namespace tidemill {

// What AWS answers, as values. What is not needed is passed over. Pure.

// The group, and its instances as far as EC2 tells of them; `instances` are pages.
AwsView ReadView(const AwsGroup& group, const XmlElement& groups,
                 const std::vector<XmlElement>& instances);
std::vector<AwsActivity> ReadActivities(const XmlElement& answer);

// The device of the root, by image.
std::map<std::string, std::string> ReadImages(const XmlElement& answer);

// The newest version of a template.
struct AwsTemplateVersion {
  std::string number = {};
  std::string mark = {};
};
AwsTemplateVersion ReadTemplate(const XmlElement& answer);
std::vector<std::string> ReadTemplateIds(const std::vector<XmlElement>& pages);

// When an instance ended, of "User initiated (2026-05-01 12:03:44 GMT)". Nothing: it does not say.
std::optional<TimePoint> EndOf(std::string_view reason);

}  // namespace tidemill
