// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "cli/child.h"
#include "cli/console.h"
#include "wire/up_json.h"

namespace tidemill::cli {

// What `tidemill up` keeps on the disk, and who may use it:
//
//   up.lock   held while it runs      pg/     the cluster        logs/   of each program
//   up.json   there while it is ready port    the last one       agent/  the agent's state
//   tls/      ca.pem and server.pem: the certificates of its authority and its server, and their
//             keys, ca.key and server.key, which nobody else may read
//   access/   admin.token, join.token, secret.keys: nobody else may read them either
class UpFolder {
 public:
  // Makes the folder if need be and takes its lock. kConflict: another one runs, with its pid.
  static Result<UpFolder> Open(std::filesystem::path path, bool root);

  UpFolder(UpFolder&& other) noexcept;
  UpFolder& operator=(UpFolder&&) = delete;
  ~UpFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path Log(const std::string& program) const;
  std::filesystem::path Agent() const { return path_ / "agent"; }

  // The port of the last time; 0 if there was none.
  int LastPort() const;
  Result<void> KeepPort(int port) const;
  // The server's certificate, its key, and who vouches for it, as files. Makes what is missing or
  // ends within 30 days; the same names serve on.
  struct Tls {
    std::string certificate;
    std::string key;
    std::string ca;
  };
  Result<Tls> MakeTls(std::int64_t now_s) const;
  // Who may do what, as files that nobody else may read: the admin's token, the agent's join token,
  // the keys of secrets. The tokens are made by the server's own program. kInvalid: the folder is
  // not ours alone, or the keys are broken; the reason says what to do.
  struct Access {
    std::string admin_token;
    std::string join_token;
    std::string secret_keys;
  };
  Result<Access> MakeAccess(Random& random) const;
  // For the other commands. Whole or not there at all, and gone with this object.
  Result<void> Announce(const UpFile& file);

 private:
  UpFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::filesystem::path path_;
  int lock_;  // -1: moved from
  bool announced_ = false;
};

// Whether a server could listen on this port of 127.0.0.1 now.
bool IsPortFree(int port);

// The first folder on the way to `path` that the account may not enter.
std::optional<std::filesystem::path> ShutFolder(const std::filesystem::path& path,
                                                const Account& account);

// Where PostgreSQL's socket is: in the data folder, or if that path is too long or too odd for one,
// in a folder with a short name below `short_base`. Made with mode 0700, for the account if there
// is one. kInternal: it is somebody else's.
Result<std::filesystem::path> MakeSocketFolder(const std::filesystem::path& data,
                                               const std::filesystem::path& short_base,
                                               const std::optional<Account>& account);

}  // namespace tidemill::cli
