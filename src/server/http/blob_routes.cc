// SPDX-License-Identifier: Apache-2.0
// /v1/blobs: what people upload beside their jobs, under the SHA-256 of its bytes.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "base/limits.h"
#include "model/places.h"
#include "server/http/answer.h"
#include "server/http/api.h"
#include "wire/blob_json.h"

namespace tidemill {
namespace {

// Where the blob of a call is. kInvalid: its name is no SHA-256. kConflict: we have no store.
Result<ObjectStores::Place> PlaceOf(ApiState& state, const Call& call) {
  const std::string& name = call.names[0];
  if (!IsSha256Text(name)) {
    return Fail(Code::kInvalid, "a blob is called by its SHA-256: 64 digits, in lower case");
  }
  if (state.options.objects == nullptr) {
    return Fail(Code::kConflict, "this server keeps no files: it was started without --objects");
  }
  return state.options.objects->Find(BlobPlace(state.options.objects_url, call.project, name));
}

// The store's words are for whoever runs the server; the person is told that it is the store.
Error StoreError(Log& log, const Error& error) {
  log.Error("blob.failed", {{"reason", error.reason}});
  return {error.code == Code::kExhausted ? Code::kExhausted : Code::kUnavailable,
          "the server's object store does not take it now"};
}

Error AbsentOr(Log& log, const Error& error) {
  if (error.code == Code::kNotFound) return {Code::kNotFound, "no such blob"};
  return StoreError(log, error);
}

void Get(ApiState& state, Call call) {
  const auto place = PlaceOf(state, call);
  if (!place) return call.respond(ProblemAnswer(place.error()));
  place->store->Head(place->key, [&state, name = call.names[0], respond = std::move(call.respond)](
                                     const Result<ObjectInfo>& got) {
    if (got) return respond(JsonAnswer(FormatBlob({name, got->size_bytes})));
    respond(ProblemAnswer(AbsentOr(state.log, got.error())));
  });
}

void Read(ApiState& state, Call call) {
  const auto place = PlaceOf(state, call);
  if (!place) return call.respond(ProblemAnswer(place.error()));
  const auto bytes = std::make_shared<std::string>();
  const auto on_piece = [bytes](std::string_view piece) -> Result<void> {
    if (bytes->size() + piece.size() > limits::kPartBytes) {
      return Fail(Code::kInternal, "it is larger than anything that is taken");
    }
    bytes->append(piece);
    return {};
  };
  place->store->Get(
      place->key, {}, on_piece,
      [&state, bytes, respond = std::move(call.respond)](const Result<ObjectInfo>& got) {
        if (!got) return respond(ProblemAnswer(AbsentOr(state.log, got.error())));
        HttpResponse response;
        response.content_type = "application/octet-stream";
        response.body = std::move(*bytes);
        respond(std::move(response));
      });
}

void Put(ApiState& state, Call call) {
  const auto place = PlaceOf(state, call);
  if (!place) return call.respond(ProblemAnswer(place.error()));
  const std::string& name = call.names[0];
  if (Hex(Sha256(call.request.body)) != name) {
    return call.respond(
        ProblemAnswer(Error{Code::kInvalid, "the body's SHA-256 is not the blob's name"}));
  }
  const auto size = static_cast<std::int64_t>(call.request.body.size());
  // The same name is the same bytes, so it does not matter whose put comes last.
  place->store->Put(place->key, BodyOf(std::move(call.request.body)), {},
                    [&state, name, size, respond = std::move(call.respond)](Result<void> put) {
                      if (put) return respond(JsonAnswer(FormatBlob({name, size})));
                      respond(ProblemAnswer(StoreError(state.log, put.error())));
                    });
}

}  // namespace

void AddBlobRoutes(Router& router, ApiState& state) {
  router.Get("/v1/blobs/{sha256}", Needs::kSubmitter,
             [&state](Call call) { Get(state, std::move(call)); });
  router.Get("/v1/blobs/{sha256}/content", Needs::kSubmitter,
             [&state](Call call) { Read(state, std::move(call)); });
  router.Put("/v1/blobs/{sha256}", Needs::kSubmitter, {.raw_bytes = limits::kPartBytes},
             [&state](Call call) { Put(state, std::move(call)); });
}

}  // namespace tidemill
