// SPDX-License-Identifier: Apache-2.0
#include "cdi/neuron.h"

#include <algorithm>
#include <utility>

#include "cdi/generate.h"
#include "cdi/inventory.h"
#include "cdi/under_root.h"

namespace tidemill {
namespace {

// More cores than any chip has: what says so is not what we think it is.
constexpr int kMostCores = 1024;

// The driver's class, and where its devices stand in fact.
constexpr const char* kSysFolders[] = {"/sys/class/neuron_device/",
                                       "/sys/devices/virtual/neuron_device/"};

std::string Said(const std::string& root, const std::string& device, const std::string& file) {
  for (const char* folder : kSysFolders) {
    std::string text = TextUnder(root, folder + device + file);
    if (!text.empty()) return text;
  }
  return "";
}

bool IsPlainText(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

FoundNeurons FindNeurons(const std::string& root) {
  FoundNeurons found;
  found.driver = TextUnder(root, "/sys/module/neuron/version");
  if (!IsPlainText(found.driver)) found.driver.clear();
  for (const std::string& name : NamesUnder(root, "/dev")) {
    FoundNeuron one{.number = NumberAfter("neuron", name), .cores = kNeuronCores};
    if (one.number < 0 || !IsCharDeviceUnder(root, "/dev/" + name)) continue;
    const int cores = NumberAfter("=", "=" + Said(root, name, "/core_count"));
    if (cores > 0 && cores <= kMostCores) one.cores = cores;
    one.model = Said(root, name, "/info/architecture/device_name");
    if (!IsPlainText(one.model)) one.model.clear();
    found.devices.push_back(std::move(one));
  }
  std::sort(found.devices.begin(), found.devices.end(),
            [](const FoundNeuron& a, const FoundNeuron& b) { return a.number < b.number; });
  return found;
}

std::optional<CdiSpec> MakeNeuronSpec(const FoundNeurons& found, const std::string& root) {
  if (found.devices.empty()) return std::nullopt;
  CdiSpec spec{.version = kMadeCdiVersion, .kind = "aws.amazon.com/neuron"};
  CdiDevice all{.name = "all"};
  std::string numbers;
  int cores = 0;
  for (const FoundNeuron& one : found.devices) {
    const std::string number = std::to_string(one.number);
    CdiNode node{.path = "/dev/neuron" + number};
    const std::string on_machine = UnderRoot(root, node.path);
    if (on_machine != node.path) node.host_path = on_machine;
    all.edits.nodes.push_back(node);
    CdiDevice device{.name = number, .annotations = {{kCdiCores, std::to_string(one.cores)}}};
    if (!one.model.empty()) device.annotations[kCdiModel] = one.model;
    if (!found.driver.empty()) device.annotations[kCdiDriver] = found.driver;
    device.edits.nodes = {std::move(node)};
    spec.devices.push_back(std::move(device));
    numbers += (numbers.empty() ? "" : ",") + number;
    cores += one.cores;
  }
  all.edits.env = {
      "AWS_NEURON_VISIBLE_DEVICES=" + numbers,
      "NEURON_RT_VISIBLE_CORES=0" + (cores > 1 ? "-" + std::to_string(cores - 1) : std::string())};
  spec.devices.push_back(std::move(all));
  return spec;
}

}  // namespace tidemill
