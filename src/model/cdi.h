// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemill {

// What the Container Device Interface calls things: a spec says what makes a device of a vendor
// usable in a container, as edits of the container's configuration.

// A device node that is made in the container.
struct CdiNode {
  std::string path = {};                   // in the container
  std::string host_path = {};              // on the machine; empty: the same
  char type = '\0';                        // 'b', 'c', 'u' or 'p'; '\0': that of the machine's node
  std::optional<std::int64_t> major = {};  // absent: that of the machine's node
  std::optional<std::int64_t> minor = {};
  std::optional<std::uint32_t> file_mode = {};
  std::string permissions = {};  // of "rwm"; empty: all of them; "none": no rule
  std::optional<std::uint32_t> uid = {};
  std::optional<std::uint32_t> gid = {};
  bool operator==(const CdiNode&) const = default;
};

struct CdiMount {
  std::string host_path = {};
  std::string container_path = {};
  std::string type = {};  // empty: bind
  std::vector<std::string> options = {};
  bool operator==(const CdiMount&) const = default;
};

// In the order in which a runtime runs them.
enum class HookStage : std::uint8_t {
  kPrestart,
  kCreateRuntime,
  kCreateContainer,
  kStartContainer,
  kPoststart,
  kPoststop,
};

struct OciHook {
  HookStage stage = HookStage::kPrestart;
  std::string path = {};
  std::vector<std::string> args = {};  // the first is the program's own name
  std::vector<std::string> env = {};
  std::optional<std::chrono::seconds> timeout = {};
  bool operator==(const OciHook&) const = default;
};

struct CdiEdits {
  std::vector<std::string> env = {};  // "NAME=value"
  std::vector<CdiNode> nodes = {};
  std::vector<CdiMount> mounts = {};
  std::vector<OciHook> hooks = {};
  std::vector<std::uint32_t> groups = {};  // that its processes belong to besides
  bool operator==(const CdiEdits&) const = default;
};

struct CdiDevice {
  std::string name = {};
  std::map<std::string, std::string> annotations = {};
  CdiEdits edits = {};
  bool operator==(const CdiDevice&) const = default;
};

struct CdiSpec {
  std::string version = {};  // "0.6.0"
  std::string kind = {};     // "vendor.com/class"
  std::map<std::string, std::string> annotations = {};
  std::vector<CdiDevice> devices = {};
  CdiEdits edits = {};  // of every container that has one of its devices
  bool operator==(const CdiSpec&) const = default;
};

// A device by its whole name, "vendor.com/class=name".
struct CdiName {
  std::string kind = {};
  std::string device = {};
  bool operator==(const CdiName&) const = default;
  auto operator<=>(const CdiName&) const = default;
};

// "vendor.com/class": names of letters, digits and "_-.", the vendor's also with dots, that begin
// with a letter and end with a letter or a digit.
bool IsCdiKind(std::string_view text);
// Letters, digits and "_-.:", with a letter or digit at both ends.
bool IsCdiDeviceName(std::string_view text);
// Nothing if it is not of this form.
std::optional<CdiName> ParseCdiName(std::string_view text);
std::string FormatCdiName(const CdiName& name);

}  // namespace tidemill
