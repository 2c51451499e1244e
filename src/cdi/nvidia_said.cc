// SPDX-License-Identifier: Apache-2.0
#include "cdi/nvidia_said.h"

#include <algorithm>
#include <charconv>

namespace tidemill {
namespace {

// A machine has 16; what a tool says beyond that is not believed to the end.
constexpr std::size_t kMostGpus = 256;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// The text before the next `end`, which is taken away with it.
std::string_view Cut(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return Trim(before);
}

std::int64_t NumberOf(std::string_view text, std::int64_t otherwise) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return is_whole ? number : otherwise;
}

// "535.104.05" or "12.2".
bool IsVersion(std::string_view text) {
  const bool is_of = text.find_first_not_of("0123456789.") == std::string_view::npos;
  return is_of && text.find('.') != std::string_view::npos && text.front() != '.' &&
         text.back() != '.';
}

// Words that stand for "not known" in the tool's tables.
std::string Known(std::string_view text) {
  const bool is_unknown = text.starts_with('[') || text == "N/A" || text == "Unknown";
  // It becomes an annotation, which has no such characters.
  const bool is_clean = std::none_of(text.begin(), text.end(),
                                     [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; });
  return is_unknown || !is_clean ? "" : std::string(text);
}

// The word after a label.
std::string VersionAfter(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = Trim(text.substr(at + label.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(" |\t\r\n"));
  return IsVersion(word) ? std::string(word) : "";
}

}  // namespace

GpuInformation ParseGpuInformation(std::string_view text) {
  GpuInformation found;
  while (!text.empty()) {
    std::string_view line = Cut(text, '\n');
    const std::string_view label = Cut(line, ':');
    const std::string_view value = Trim(line);
    if (label == "Model") found.model = Known(value);
    // It is "GPU-????????-..." until the driver has opened the device once.
    if (label == "GPU UUID" && value.find('?') == std::string_view::npos) found.uuid = Known(value);
    if (label == "Device Minor")
      found.minor = static_cast<int>(std::min<std::int64_t>(NumberOf(value, -1), 1 << 20));
  }
  return found;
}

std::string ParseDriverVersion(std::string_view text) {
  std::string_view line = Cut(text, '\n');
  if (!line.starts_with("NVRM version:")) return "";
  while (!line.empty()) {
    const std::string_view word = Cut(line, ' ');
    if (IsVersion(word)) return std::string(word);
  }
  return "";
}

std::vector<SmiGpu> ParseSmiGpus(std::string_view text) {
  std::vector<SmiGpu> gpus;
  while (!text.empty() && gpus.size() < kMostGpus) {
    std::string_view line = Cut(text, '\n');
    if (std::count(line.begin(), line.end(), ',') != 4) continue;
    SmiGpu gpu;
    gpu.index = static_cast<int>(std::min<std::int64_t>(NumberOf(Cut(line, ','), -1), 1 << 20));
    gpu.uuid = Known(Cut(line, ','));
    gpu.model = Known(Cut(line, ','));
    // Without units it is in MiB.
    const std::int64_t mebibytes = NumberOf(Cut(line, ','), 0);
    gpu.memory = mebibytes < (1 << 30) ? mebibytes << 20 : 0;
    gpu.bus = PlainBus(line);
    if (gpu.index >= 0) gpus.push_back(gpu);
  }
  return gpus;
}

SmiHeader ParseSmiHeader(std::string_view text) {
  return {.driver = VersionAfter(text, "Driver Version:"),
          .cuda = VersionAfter(text, "CUDA Version:")};
}

std::string PlainBus(std::string_view bus) {
  std::string plain(Trim(bus));
  for (char& c : plain) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::size_t colon = std::min(plain.find(':'), plain.size());
  const std::size_t first = std::min(plain.find_first_not_of('0'), colon);
  // A domain of zeros keeps one.
  return plain.substr(first == colon && colon > 0 ? colon - 1 : first);
}

}  // namespace tidemill
