// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cloud/kept.h"
#include "cloud/web.h"
#include "cloud/world.h"

namespace tidemill {

// The tokens of Google, from where its own tools find them and in their order: the key file that
// GOOGLE_APPLICATION_CREDENTIALS names, the file that gcloud writes, the metadata server. Keeps one
// and fetches it anew in time. Loop thread only. Nothing survives a restart.
class GoogleTokens {
 public:
  using Done = std::function<void(Result<std::string>)>;

  GoogleTokens(AsioLoop& loop, CloudWorld world);
  // Calls under way are dropped: their `done` does not come.
  ~GoogleTokens();

  // Calls `done` once, never from inside Get, with a token for "Authorization: Bearer".
  //   kNobody       no place has any; the reason names them all
  //   kInvalid      a place is wrong: a file, a variable, an answer
  //   kForbidden    Google refuses the key
  //   kUnavailable  no server answers
  void Get(Done done);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// Where the metadata server of Google is. kInvalid: GCE_METADATA_HOST is no host, or one to which
// keys must not be entrusted.
Result<Origin> GoogleMetadataOrigin(const CloudWorld& world);

// What follows is for the tests too.

// A call to be made for a token, and where that is looked for.
struct GoogleCall {
  WebUrl url = {};
  HttpCall call = {};
  std::string place = {};
  bool is_metadata = false;
};
// kInvalid: a file is wrong.
Result<GoogleCall> GoogleTokenCall(const CloudWorld& world);

}  // namespace tidemill
