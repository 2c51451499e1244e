// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "net/http.h"
#include "net/tls.h"

// Which server a command talks to, and as whom.
namespace tidemill::cli {

// As told on the command line; at most one of server and context.
struct TargetFlags {
  std::string server = {};
  std::string context = {};
  std::string ca = {};
  std::string project = {};
};

struct Target {
  std::string url;
  std::string token;    // empty: none
  std::string project;  // empty: the token's own
  std::string context;  // its name; empty: it is none of them
  // Who vouches for the server: a file, or else PEM, or else those whom the system believes.
  std::string ca_file;
  std::string ca_pem;
};

// The flags, else TIDEMILL_SERVER or TIDEMILL_CONTEXT, else the current context, else a running
// `tidemill up`. A context's token goes to the context's server only, and TIDEMILL_TOKEN only to a
// server that is named by its URL or runs here: it is nobody's guess whose token it is.
//   kUnavailable  no server is named, and none runs here
//   kNotFound     no such context
//   kInvalid      two are named, or the file of contexts is broken
//   kForbidden    others may read the file of contexts
Result<Target> FindTarget(const Surroundings& around, bool root, const TargetFlags& flags);

// The file of who vouches for the server at `url`: as told, else $TIDEMILL_CA, else that of the
// running `tidemill up` whose server it is. Empty: whom the system believes.
std::string FindCa(const Surroundings& around, bool root, const std::string& told,
                   const std::string& url);

// Null where no https is spoken.
Result<std::shared_ptr<const TlsTrust>> TrustOf(const Target& target, const Origin& origin);

// Tells why there is no target, or no context; gives the exit code that goes with it.
int ExplainTarget(const Console& console, const Error& error);

}  // namespace tidemill::cli
