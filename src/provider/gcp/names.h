// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tidemill {

// What things of a pool are called at Google, whose names have lower-case letters, digits and
// dashes, and at most 63 of them. Pure: whoever asks, now or after a restart, gets the same.
class GcpNames {
 public:
  GcpNames(const std::string& project, const std::string& pool);

  // "tidemill-films-spot"; with a hash at its end where that would not name this pool alone.
  const std::string& group() const { return group_; }
  // All names of its instances begin with it, and those of no other pool do: "tm-1f0c8a77d2".
  const std::string& base() const { return base_; }

  // A template never changes, so that its name carries what is in it.
  std::string TemplateOf(std::string_view content) const;
  bool IsTemplate(std::string_view name) const;

  // "spot-17" is "tm-1f0c8a77d2-spot-17". Nothing for what is no name of a machine of the pool.
  std::optional<std::string> InstanceOf(const std::string& machine) const;
  std::optional<std::string> MachineOf(const std::string& instance) const;

 private:
  std::string pool_;
  std::string group_;
  std::string base_;
  std::string begin_;  // of a machine's instance, up to its number
};

// What Google takes as the value of a label.
std::string LabelValue(std::string_view text);

}  // namespace tidemill
