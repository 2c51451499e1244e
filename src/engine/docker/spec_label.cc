// SPDX-License-Identifier: Apache-2.0
#include "engine/docker/spec_label.h"

#include <charconv>
#include <cstdint>
#include <map>

namespace tidemill {
namespace {

using Lines = std::map<std::string, std::string, std::less<>>;

std::optional<std::int64_t> NumberIn(const Lines& lines, std::string_view name) {
  const auto found = lines.find(name);
  if (found == lines.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<std::string> TextIn(const Lines& lines, std::string_view name) {
  const auto found = lines.find(name);
  if (found == lines.end()) return std::nullopt;
  return found->second;
}

Lines LinesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    const std::size_t equals = line.find('=');
    if (equals == line.npos) continue;
    lines.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return lines;
}

}  // namespace

std::string FormatSpecLabel(const ContainerSpec& spec) {
  const auto line = [](const char* name, const std::string& value) {
    return std::string(name) + "=" + value + "\n";
  };
  const auto number = [&](const char* name, std::int64_t value) {
    return line(name, std::to_string(value));
  };
  std::string devices;
  for (const std::string& path : spec.devices) devices += (devices.empty() ? "" : " ") + path;
  return number("job", spec.job.number) + line("image", spec.image) +
         number("millicpus", spec.limits.millicpus) +
         number("memory_bytes", spec.limits.memory_bytes) +
         line("kinds", FormatDevices(spec.limits.devices)) + number("shm_bytes", spec.shm_bytes) +
         number("no_network", spec.policy.no_network) +
         number("no_capabilities", spec.policy.no_capabilities) +
         number("read_only_root", spec.policy.read_only_root) +
         number("user_namespace", spec.policy.user_namespace) +
         number("firewall", spec.policy.firewall) + number("secret_files", spec.secret_files) +
         number("loop", spec.loop) + line("devices", devices);
}

std::optional<ContainerSpec> ParseSpecLabel(std::string_view text) {
  const Lines lines = LinesOf(text);
  ContainerSpec spec;
  bool good = true;
  const auto number = [&](const char* name) {
    const auto value = NumberIn(lines, name);
    good = good && value.has_value();
    return value.value_or(0);
  };
  const auto flag = [&](const char* name) { return number(name) != 0; };
  spec.job.number = number("job");
  spec.limits.millicpus = number("millicpus");
  spec.limits.memory_bytes = number("memory_bytes");
  spec.shm_bytes = number("shm_bytes");
  spec.policy.no_network = flag("no_network");
  spec.policy.no_capabilities = flag("no_capabilities");
  spec.policy.read_only_root = flag("read_only_root");
  spec.policy.user_namespace = flag("user_namespace");
  spec.policy.firewall = flag("firewall");
  spec.secret_files = flag("secret_files");
  spec.loop = flag("loop");
  const auto image = TextIn(lines, "image");
  const auto kinds = TextIn(lines, "kinds");
  const auto paths = TextIn(lines, "devices");
  if (!good || !image || !kinds || !paths) return std::nullopt;
  spec.image = *image;
  const auto devices = ParseDevices(*kinds);
  if (!devices) return std::nullopt;
  spec.limits.devices = *devices;
  std::string_view rest = *paths;
  while (!rest.empty()) {
    const std::size_t space = rest.find(' ');
    spec.devices.emplace_back(rest.substr(0, space));
    rest.remove_prefix(space == rest.npos ? rest.size() : space + 1);
  }
  return spec;
}

}  // namespace tidemill
