// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of cdi: a folder of files and of real device nodes, which needs root.

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"

namespace tidemill {

class FakeTree {
 public:
  FakeTree() {
    char name[] = "/tmp/tidemill-cdi-XXXXXX";
    TIDEMILL_CHECK(mkdtemp(name) != nullptr);
    root_ = name;
  }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;
  ~FakeTree() { std::filesystem::remove_all(root_); }

  const std::string& root() const { return root_; }
  std::string At(const std::string& path) const { return root_ + path; }

  void Write(const std::string& path, const std::string& text) const {
    MakeFolder(path);
    std::ofstream(At(path), std::ios::binary) << text;
  }
  void Link(const std::string& target, const std::string& path) const {
    MakeFolder(path);
    std::filesystem::create_symlink(target, At(path));
  }
  // A device of the kernel under another name: 1:3 is what /dev/null is.
  void Node(const std::string& path, mode_t type, unsigned major, unsigned minor) const {
    MakeFolder(path);
    TIDEMILL_CHECK(mknod(At(path).c_str(), type | 0600, makedev(major, minor)) == 0);
    TIDEMILL_CHECK(chmod(At(path).c_str(), 0660) == 0);
  }

 private:
  void MakeFolder(const std::string& path) const {
    std::filesystem::create_directories(std::filesystem::path(At(path)).parent_path());
  }

  std::string root_;
};

}  // namespace tidemill
