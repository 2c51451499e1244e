// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/cdi.h"

namespace tidemill {

// A file of a CDI folder, or why it is none that can be used.
struct CdiFile {
  std::string path = {};
  int priority = 0;                  // of its folder: what stands in a later folder goes before
  Result<CdiSpec> spec = CdiSpec{};  // its error: "line 7: ..."
};

// The devices that a machine's specs name.
class CdiRegistry {
 public:
  CdiRegistry() = default;
  explicit CdiRegistry(std::vector<CdiFile> files);

  // By name. A device that two files of one folder name is not here: nobody knows which is meant.
  std::vector<CdiName> Names() const;
  // What is wrong with the files, each "PATH: line 7: ..." or "PATH and PATH both have ...".
  const std::vector<std::string>& Troubles() const { return troubles_; }
  // The device and its spec, or null. They live as long as the registry, and are not moved with it:
  // take them anew from a registry that was copied.
  const CdiDevice* Find(const CdiName& name) const;
  const CdiSpec* SpecOf(const CdiName& name) const;

  // What the containers of these devices need: each spec's own edits once, before those of the
  // first of its devices; a device that is named twice counts once. kInvalid for a name that is
  // none; kNotFound for a device that is not here, with the troubles, since they may be why.
  Result<CdiEdits> EditsOf(const std::vector<std::string>& names) const;

 private:
  struct Place {
    std::size_t file = 0;
    std::size_t device = 0;
  };
  std::vector<CdiFile> files_;
  std::map<CdiName, Place> places_;
  std::vector<std::string> troubles_;
};

}  // namespace tidemill
