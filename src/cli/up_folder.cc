// SPDX-License-Identifier: Apache-2.0
#include "cli/up_folder.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/fd.h"
#include "base/seal.h"
#include "base/wipe.h"
#include "cli/locate.h"
#include "net/certificate.h"
#include "net/tls.h"

namespace tidemill::cli {
namespace {

constexpr std::string_view kSocketName = "/.s.PGSQL.5432";
constexpr std::size_t kPemBytes = 64 << 10;
constexpr std::size_t kKeyFileBytes = 64 << 10;
constexpr std::int64_t kRenewBefore = 30 * 86'400;
constexpr mode_t kSecret = 0600;

// What a socket's path may have, with the zero at its end.
constexpr std::size_t kSocketPathBytes = sizeof(sockaddr_un::sun_path);

tl::unexpected<Error> FolderError(const std::string& doing) {
  return Fail(Code::kInternal, doing + ": " + std::strerror(errno));
}

Result<void> MakeFolder(const std::filesystem::path& path, mode_t mode) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
    return FolderError("make " + path.string());
  }
  return {};
}

// For what must be nobody else's: one that somebody else has made, or can change, may hold what
// they have put there.
Result<void> MakeOwnFolder(const std::filesystem::path& path, mode_t mode) {
  TIDEMILL_TRY_VOID(MakeFolder(path, mode));
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return FolderError("look at " + path.string());
  if (!S_ISDIR(info.st_mode)) {
    return Fail(Code::kInvalid, path.string() + " is no folder; remove it");
  }
  if (info.st_uid != ::geteuid()) {
    return Fail(Code::kInvalid, path.string() + " belongs to somebody else; remove it");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Fail(Code::kInvalid, "others can write into " + path.string() +
                                    "; if all in it is yours:  chmod go-w " + path.string());
  }
  if (::chmod(path.c_str(), mode) != 0) return FolderError("shut " + path.string());
  return {};
}

Result<void> SyncFolder(const std::filesystem::path& path) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) return FolderError("write " + path.string());
  return {};
}

// Whole or not at all: also when the machine stops in between.
Result<void> WriteFile(const std::filesystem::path& path, const std::string& text,
                       mode_t mode = 0644) {
  const std::filesystem::path fresh = path.string() + ".new";
  ::unlink(fresh.c_str());  // its mode would stay
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return FolderError("make " + fresh.string());
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool synced = written && ::fsync(fd) == 0;
  if (::close(fd) != 0 || !synced) return FolderError("write " + fresh.string());
  if (::rename(fresh.c_str(), path.c_str()) != 0) return FolderError("write " + path.string());
  return SyncFolder(path.parent_path());
}

// A server would not start with a broken one, and a new key opens nothing that an old one sealed.
Result<void> CheckKeys(const std::filesystem::path& path) {
  auto text = ReadFile(path, kKeyFileBytes);
  if (!text) return Fail(Code::kInvalid, path.string() + ": cannot be read");
  const auto keys = KeyRing::Parse(*text);
  Wipe(*text);
  if (keys) return {};
  return Fail(Code::kInvalid, path.string() + " is broken: " + keys.error().reason +
                                  "\nPut it back from a copy: without it no secret can be read. If "
                                  "there are none yet, remove it, and a new one is made.");
}

// A certificate and its key as they were left, if both are there and last long enough.
std::optional<KeyPair> ReadPair(const std::filesystem::path& folder, const std::string& name,
                                std::int64_t now_s) {
  const auto certificate = ReadFile(folder / (name + ".pem"), kPemBytes);
  const auto key = ReadFile(folder / (name + ".key"), kPemBytes);
  if (!certificate || !key) return std::nullopt;
  const auto until_s = CertificateExpiry(*certificate);
  if (!until_s || *until_s < now_s + kRenewBefore) return std::nullopt;
  return KeyPair{*certificate, *key};
}

// The key first: a certificate without its key would not be made anew.
Result<void> WritePair(const std::filesystem::path& folder, const std::string& name,
                       const KeyPair& pair) {
  TIDEMILL_TRY_VOID(WriteFile(folder / (name + ".key"), pair.key, kSecret));
  return WriteFile(folder / (name + ".pem"), pair.certificate);
}

}  // namespace

Result<UpFolder> UpFolder::Open(std::filesystem::path path, bool root) {
  // PostgreSQL runs as somebody else than root, and everybody may ask where root's server is.
  TIDEMILL_TRY_VOID(MakeFolder(path, root ? 0755 : 0700));
  TIDEMILL_TRY_VOID(MakeFolder(path / "logs", 0755));
  const std::filesystem::path name = path / "up.lock";
  const int lock = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) return FolderError("open " + name.string());
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    const std::string pid = ReadFile(name, 32).value_or("");
    return Fail(Code::kConflict, "already running (pid " + pid + ")");
  }
  const std::string pid = std::to_string(::getpid());
  const bool written = ::ftruncate(lock, 0) == 0 &&
                       ::write(lock, pid.data(), pid.size()) == static_cast<ssize_t>(pid.size());
  UpFolder folder(std::move(path), lock);
  if (!written) return FolderError("write " + name.string());
  return folder;
}

UpFolder::UpFolder(UpFolder&& other) noexcept
    : path_(other.path_),
      lock_(std::exchange(other.lock_, -1)),
      announced_(std::exchange(other.announced_, false)) {}

UpFolder::~UpFolder() {
  if (announced_) ::unlink((path_ / "up.json").c_str());
  if (lock_ >= 0) ::close(lock_);
}

std::filesystem::path UpFolder::Log(const std::string& program) const {
  return path_ / "logs" / (program + ".log");
}

int UpFolder::LastPort() const {
  const std::string text = ReadFile(path_ / "port", 16).value_or("");
  int port = 0;
  std::from_chars(text.data(), text.data() + text.size(), port);
  return port > 0 && port < 65'536 ? port : 0;
}

Result<void> UpFolder::KeepPort(int port) const {
  return WriteFile(path_ / "port", std::to_string(port));
}

Result<UpFolder::Tls> UpFolder::MakeTls(std::int64_t now_s) const {
  const std::filesystem::path folder = path_ / "tls";
  TIDEMILL_TRY_VOID(MakeOwnFolder(folder, 0755));  // others read who vouches for the server
  auto authority = ReadPair(folder, "ca", now_s);
  auto server = authority ? ReadPair(folder, "server", now_s) : std::nullopt;
  const Tls tls{folder / "server.pem", folder / "server.key", folder / "ca.pem"};
  // Also when a crash has left the two parts of different pairs.
  if (server && TlsIdentity::Open({.certificate = tls.certificate, .key = tls.key})) return tls;
  if (!authority) {
    TIDEMILL_TRY(authority, MakeAuthority(now_s));
    TIDEMILL_TRY_VOID(WritePair(folder, "ca", *authority));
  }
  auto made = MakeServerCertificate(*authority, {"localhost", "127.0.0.1", "::1"}, now_s);
  if (!made) return While("make a certificate with " + (folder / "ca.pem").string(), made.error());
  TIDEMILL_TRY_VOID(WritePair(folder, "server", *made));
  return tls;
}

Result<UpFolder::Access> UpFolder::MakeAccess(Random& random) const {
  const std::filesystem::path folder = path_ / "access";
  TIDEMILL_TRY_VOID(MakeOwnFolder(folder, 0700));
  const Access access{.admin_token = (folder / "admin.token").string(),
                      .join_token = (folder / "join.token").string(),
                      .secret_keys = (folder / "secret.keys").string()};
  if (!std::filesystem::exists(access.secret_keys)) {
    TIDEMILL_TRY_VOID(WriteFile(access.secret_keys, MakeKeyLine(random) + "\n", kSecret));
  }
  TIDEMILL_TRY_VOID(CheckKeys(access.secret_keys));
  return access;
}

Result<void> UpFolder::Announce(const UpFile& file) {
  announced_ = true;
  return WriteFile(path_ / "up.json", FormatUp(file));
}

bool IsPortFree(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return bound;
}

std::optional<std::filesystem::path> ShutFolder(const std::filesystem::path& path,
                                                const Account& account) {
  std::filesystem::path at;
  for (const auto& part : std::filesystem::absolute(path)) {
    at /= part;
    struct stat info{};
    if (::stat(at.c_str(), &info) != 0) return std::nullopt;  // ours to make
    const mode_t bit = info.st_uid == account.uid   ? S_IXUSR
                       : info.st_gid == account.gid ? S_IXGRP
                                                    : S_IXOTH;
    if ((info.st_mode & bit) == 0) return at;
  }
  return std::nullopt;
}

Result<std::filesystem::path> MakeSocketFolder(const std::filesystem::path& data,
                                               const std::filesystem::path& short_base,
                                               const std::optional<Account>& account) {
  std::filesystem::path path = data / "run";
  // PostgreSQL takes a list of folders, in which commas and quotes have a meaning.
  const bool plain = path.string().find_first_of(",\"' \\") == std::string::npos;
  if (!plain || path.string().size() + kSocketName.size() >= kSocketPathBytes) {
    // Eight bytes of the digest: two data folders never meet in one.
    path = short_base / ("tidemill-" + Hex(Sha256(data.string()).substr(0, 8)));
  }
  TIDEMILL_TRY_VOID(MakeFolder(path, 0700));
  const uid_t owner = account ? account->uid : ::geteuid();
  struct stat info{};
  // A link would lead to a folder of somebody's choosing.
  if (::lstat(path.c_str(), &info) != 0) return FolderError("look at " + path.string());
  const bool ours = S_ISDIR(info.st_mode) && (info.st_uid == owner || info.st_uid == ::geteuid());
  if (!ours) return Fail(Code::kInternal, path.string() + " belongs to somebody else");
  if (::chmod(path.c_str(), 0700) != 0) return FolderError("close " + path.string());
  if (account && ::chown(path.c_str(), account->uid, account->gid) != 0) {
    return FolderError("give away " + path.string());
  }
  return path;
}

}  // namespace tidemill::cli
