// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemill {

// An element of what AWS and its kin answer: either text or further elements. Attributes are passed
// over, and so is the namespace in front of a name.
struct XmlElement {
  std::string name = {};
  std::string text = {};
  std::vector<XmlElement> children = {};

  // The first of that name, or nullptr.
  const XmlElement* Find(std::string_view child) const;
  // The text of the element at the end of "a/b/c" below this one; empty if there is none.
  std::string At(std::string_view path) const;
};

// The root. kInvalid: not XML, or nested more deeply than any such answer is. Entities of its own
// making are not expanded.
Result<XmlElement> ParseXml(std::string_view text);

// What a service says is wrong: "AccessDenied: not yours"; the beginning of the body if it is not
// of that form.
struct AwsXmlError {
  std::string code = {};
  std::string message = {};
  std::string Text() const { return code.empty() ? message : code + ": " + message; }
};
AwsXmlError ParseAwsXmlError(std::string_view body);

// Text as it may stand between two tags.
std::string EscapeXml(std::string_view text);

}  // namespace tidemill
