// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "server/http/answer.h"
#include "server/http/api.h"

namespace tidemill {

// Asks the store for T with `ask`, in its turn, and answers with what `format` makes of it.
template <typename T, typename Ask, typename Format>
void AskAccess(ApiState& state, Call call, Ask ask, Format format) {
  state.people.Pass<T>(
      call.request.peer,
      [&state, ask = std::move(ask)](Reply<T> done) {
        OnAccess(state.server.deps(), ask,
                 [done = std::move(done)](Result<T> result) { done(std::move(result)); });
      },
      AnswerWith<T>(state.log, std::move(call.respond), std::move(format)));
}

// The same with what operators set.
template <typename T, typename Ask, typename Format>
void AskSettings(ApiState& state, Call call, Ask ask, Format format) {
  AskAccess<T>(
      state, std::move(call),
      [&settings = state.settings, ask = std::move(ask)](AccessStore&) { return ask(settings); },
      std::move(format));
}

}  // namespace tidemill
