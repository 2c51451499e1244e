// SPDX-License-Identifier: Apache-2.0
#include "provider/gcp/compute_api.h"

#include <algorithm>
#include <utility>

#include "cloud/google_api.h"
#include "provider/gcp/answers.h"

namespace tidemill {
namespace {

constexpr int kTriesMost = 4;
constexpr std::chrono::milliseconds kWaitMost{4'000};
constexpr std::chrono::seconds kTimeout{10};
// After so long no further try begins, so that a call takes less than twice that.
constexpr Duration kTryFor = std::chrono::seconds(10);
// Of 500 rows: five times the machines of the largest cell.
constexpr int kPagesMost = 100;
// A page of instances is some hundred bytes a row; an error page is no list.
constexpr std::size_t kAnswerBytes = 16 << 20;

// "/zones/Z" of "/zones/Z/instances/...", "/global" of "/global/...": where an operation stands.
std::string ScopeOf(const std::string& path) {
  if (path.starts_with("/global/")) return "/global";
  return path.substr(0, path.find('/', std::string_view("/zones/").size()));
}

}  // namespace

struct ComputeApi::Trying {
  ComputeAsk ask;
  std::function<void(Result<Tree>)> done;
  TimePoint until;
  int tries = 0;
};

struct ComputeApi::Paging {
  ComputeAsk ask;
  PageRules rules;
  std::function<void(Result<Tree::List>)> done;
  std::string next = {};
  Tree::List rows = {};
  int pages = 0;
};

struct ComputeApi::Waiting {
  ComputeAsk ask;  // for the operation's state
  std::string scope;
  TimePoint until;
  std::function<void(Result<void>)> done;
};

ComputeApi::ComputeApi(AsioLoop& loop, Random& random, CloudWorld world, GcpOptions options)
    : loop_(loop),
      random_(random),
      options_(std::move(options)),
      root_(GoogleApiRoot(world, kGoogleCompute)),
      tokens_(loop, world),
      web_(loop, {.max_connections = 8, .max_body_bytes = kAnswerBytes, .tls = world.tls}) {}
ComputeApi::~ComputeApi() = default;

void ComputeApi::After(Duration delay, std::function<void()> call) {
  loop_.After(delay, [alive = std::weak_ptr<char>(alive_), call = std::move(call)] {
    if (!alive.expired()) call();
  });
}

// --- one call ---

void ComputeApi::Call(ComputeAsk ask, std::function<void(Result<Tree>)> done) {
  if (!root_) {
    return After(Duration::zero(), [done = std::move(done), error = root_.error()] {
      done(tl::unexpected<Error>(error));
    });
  }
  Try(std::make_shared<Trying>(Trying{std::move(ask), std::move(done), Now() + kTryFor}));
}

void ComputeApi::Try(const std::shared_ptr<Trying>& trying) {
  ++trying->tries;
  tokens_.Get([this, trying](const Result<std::string>& token) {
    if (token) return Send(trying, *token);
    if (token.error().code == Code::kUnavailable) return Again(trying, token.error());
    trying->done(tl::unexpected<Error>(token.error()));
  });
}

void ComputeApi::Send(const std::shared_ptr<Trying>& trying, const std::string& token) {
  const ComputeAsk& ask = trying->ask;
  HttpCall call;
  call.method = ask.method;
  call.target = root_->target + "/projects/" + ask.project + ask.path;
  if (!ask.query.empty()) call.target += "?" + ask.query;
  if (ask.body) {
    call.content_type = "application/json";
    call.body = FormatTreeShort(*ask.body);
  }
  call.headers.emplace_back("Authorization", "Bearer " + token);
  call.timeout = kTimeout;
  web_.Send(root_->origin, std::move(call), {.most = 1},
            [this, trying](const Result<HttpResponse>& got) { OnAnswer(trying, got); });
}

void ComputeApi::OnAnswer(const std::shared_ptr<Trying>& trying, const Result<HttpResponse>& got) {
  if (!got) {
    const Code code = got.error().code;
    if (code == Code::kUnavailable || code == Code::kUnknown) return Again(trying, got.error());
    return trying->done(tl::unexpected<Error>(got.error()));
  }
  if (got->status >= 200 && got->status < 300) return trying->done(ParseTree(got->body));
  Error error = ErrorOf(got->status, got->body);
  if (error.code == Code::kUnavailable) return Again(trying, std::move(error));
  trying->done(tl::unexpected<Error>(std::move(error)));
}

void ComputeApi::Again(const std::shared_ptr<Trying>& trying, Error error) {
  if (trying->tries >= kTriesMost || Now() >= trying->until) {
    return trying->done(tl::unexpected<Error>(std::move(error)));
  }
  const auto most = std::min(options_.retry_wait * (1 << trying->tries), kWaitMost);
  const auto wait =
      std::chrono::milliseconds(random_.Below(static_cast<std::uint64_t>(most.count()) + 1));
  After(wait, [this, trying] { Try(trying); });
}

// --- lists ---

void ComputeApi::Pages(ComputeAsk ask, PageRules rules,
                       std::function<void(Result<Tree::List>)> done) {
  NextPage(std::make_shared<Paging>(Paging{std::move(ask), std::move(rules), std::move(done)}));
}

void ComputeApi::NextPage(const std::shared_ptr<Paging>& paging) {
  ComputeAsk ask = paging->ask;
  if (!paging->next.empty()) ask.query += "&pageToken=" + PercentEncode(paging->next);
  Call(std::move(ask), [this, paging](const Result<Tree>& got) {
    if (!got) return paging->done(tl::unexpected<Error>(got.error()));
    const Tree::List& rows = ListField(*got, paging->rules.field);
    paging->rows.insert(paging->rows.end(), rows.begin(), rows.end());
    paging->next = TextField(*got, "nextPageToken");
    const bool is_enough = paging->rules.is_enough && paging->rules.is_enough(rows);
    const bool is_cut = paging->rules.is_cut && paging->pages + 1 >= kPagesMost;
    if (paging->next.empty() || is_enough || is_cut) {
      return paging->done(std::move(paging->rows));
    }
    if (++paging->pages >= kPagesMost) {
      return paging->done(Fail(Code::kExhausted, "Google's list has no end"));
    }
    NextPage(paging);
  });
}

// --- operations ---

void ComputeApi::Run(ComputeAsk ask, TimePoint until, std::function<void(Result<void>)> done) {
  const auto waiting = std::make_shared<Waiting>(
      Waiting{{.project = ask.project}, ScopeOf(ask.path), until, std::move(done)});
  Call(std::move(ask), [this, waiting](const Result<Tree>& got) { OnOperation(waiting, got); });
}

void ComputeApi::OnOperation(const std::shared_ptr<Waiting>& waiting, const Result<Tree>& got) {
  if (!got) return waiting->done(tl::unexpected<Error>(got.error()));
  const auto operation = ParseOperation(*got);
  if (!operation) return waiting->done(tl::unexpected<Error>(operation.error()));
  if (operation->done) return waiting->done(OperationResult(*operation));
  if (loop_.Now() >= waiting->until) {
    return waiting->done(Fail(Code::kUnknown, "Google has not done it in time"));
  }
  waiting->ask.path = waiting->scope + "/operations/" + operation->name;
  After(options_.poll, [this, waiting] {
    Call(waiting->ask, [this, waiting](const Result<Tree>& state) { OnOperation(waiting, state); });
  });
}

}  // namespace tidemill
