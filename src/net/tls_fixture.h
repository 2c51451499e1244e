// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the tests of net: an authority, and servers' certificates in files.

#include <stdlib.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "net/certificate.h"
#include "net/tls.h"

namespace tidemill {

class TestAuthority {
 public:
  explicit TestAuthority(std::int64_t now_s = std::time(nullptr)) {
    pair = *MakeAuthority(now_s);
    std::string name = testing::TempDir() + "/tidemill-tls-XXXXXX";
    folder_ = mkdtemp(name.data());
    Write("ca.pem", pair.certificate);
  }
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;
  ~TestAuthority() { std::filesystem::remove_all(folder_); }

  // One that all tests may share.
  static TestAuthority& Common() {
    static TestAuthority authority;
    return authority;
  }

  std::string Path(const std::string& name) const { return folder_ / name; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  // The files of a server that this authority vouches for.
  TlsFiles Files(const std::string& name = "server",
                 const std::vector<std::string>& hosts = {"localhost", "127.0.0.1"},
                 std::int64_t now_s = std::time(nullptr)) const {
    const KeyPair made = *MakeServerCertificate(pair, hosts, now_s);
    return {Write(name + ".pem", made.certificate), Write(name + ".key", made.key)};
  }
  std::shared_ptr<TlsIdentity> Identity() const { return *TlsIdentity::Open(Files()); }
  std::shared_ptr<const TlsTrust> Trust() const { return *TlsTrust::Pem(pair.certificate); }

  KeyPair pair;

 private:
  std::filesystem::path folder_;
};

}  // namespace tidemill
