// SPDX-License-Identifier: Apache-2.0
#include "net/http_parser.h"

#include <algorithm>
#include <utility>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/check.h"

namespace tidemill {
namespace {

namespace http = boost::beast::http;

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

template <typename Fields>
HttpFields CopyFields(const Fields& fields) {
  HttpFields copy;
  for (const auto& field : fields) {
    copy.emplace_back(View(field.name_string()), View(field.value()));
  }
  return copy;
}

// Works around two habits of Beast: its header limit counts only what one call sees, so a header
// that comes in many pieces has no limit; and it asserts that the end of a chunked body comes in
// one piece.
template <typename Parser>
class Feeder {
 public:
  explicit Feeder(ParserLimits limits) : limits_(limits) {
    parser_.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    parser_.body_limit(limits.body_bytes);
  }

  ParserFed Feed(std::string_view bytes, boost::system::error_code& error) {
    if (parser_.is_done()) return {ParserStep::kDone, 0};
    const bool had_header = parser_.is_header_done();
    // Every chunked body ends with these five bytes, so fewer never make it whole.
    const std::size_t needed = had_header && parser_.chunked() ? std::size_t{5} : std::size_t{1};
    if (bytes.size() < needed) return {ParserStep::kMore, 0};
    const std::size_t used = parser_.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    if (error == http::error::need_more) {
      error = {};
      header_bytes_ += had_header ? 0 : used;
      // The line that is not yet whole counts too, or its beginning could grow for ever.
      const std::size_t held = (had_header ? 0 : header_bytes_) + (bytes.size() - used);
      if (held > limits_.header_bytes) error = http::error::header_limit;
    }
    if (error) return {ParserStep::kBad, used};
    if (!had_header && parser_.is_header_done()) {
      parser_.eager(true);
      return {ParserStep::kHeader, used};
    }
    return {parser_.is_done() ? ParserStep::kDone : ParserStep::kMore, used};
  }

  void LimitBody(std::size_t bytes) {
    limits_.body_bytes = std::min(limits_.body_bytes, bytes);
    parser_.body_limit(limits_.body_bytes);
  }
  const ParserLimits& limits() const { return limits_; }
  Parser& parser() { return parser_; }
  const Parser& parser() const { return parser_; }

 private:
  ParserLimits limits_;
  Parser parser_;
  std::size_t header_bytes_ = 0;
};

int StatusFor(const boost::system::error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit) return 431;
  if (error == http::error::bad_version) return 505;
  return 400;
}

std::string DetailFor(const boost::system::error_code& error, const ParserLimits& limits) {
  if (error == http::error::body_limit) {
    return "the body is longer than " + std::to_string(limits.body_bytes) + " bytes";
  }
  if (error == http::error::header_limit) {
    return "the header is longer than " + std::to_string(limits.header_bytes) + " bytes";
  }
  return "malformed HTTP: " + error.message();
}

}  // namespace

struct RequestParser::Impl {
  explicit Impl(ParserLimits limits) : feeder(limits) {}

  // True if the header can be served. Fills in `request`, all but the body.
  bool ReadHeader() {
    const auto& message = feeder.parser().get();
    auto target = ParseTarget(View(message.target()));
    if (!target) return Refuse(400, target.error().reason);
    // Whoever stands between a client and us may read a line that is continued in another way.
    if (is_folded) return Refuse(400, "a header field must not be continued on another line");
    // A coding that is not understood leaves the end of the body unknown, and with it the beginning
    // of the next request; also one below `chunked`.
    const std::size_t codings = message.count(http::field::transfer_encoding);
    const auto coding = message[http::field::transfer_encoding];
    if (codings > 1 || (codings == 1 && !boost::beast::iequals(coding, "chunked"))) {
      return Refuse(501, "the only Transfer-Encoding understood is chunked");
    }
    if (message.version() >= 11 && message.count(http::field::host) != 1) {
      return Refuse(400, "exactly one Host field is needed");
    }
    request.method = message.method() == http::verb::head ? "GET" : View(message.method_string());
    request.path = std::move(target->path);
    request.query = std::move(target->query);
    request.has_encoded_slash = target->has_encoded_slash;
    request.content_type = View(message[http::field::content_type]);
    // Now and not at the end: fields that trail a chunked body must not pass for header fields.
    request.headers = CopyFields(message);
    return true;
  }

  bool Refuse(int with, std::string why) {
    status = with;
    detail = std::move(why);
    return false;
  }

  // Looks at what the parser has used of the header, which hides it.
  void LookForFolds(std::string_view header) {
    for (const char c : header) {
      is_folded |= at_line && (c == ' ' || c == '\t');
      at_line = c == '\n';
    }
  }

  Feeder<http::request_parser<http::string_body>> feeder;
  bool is_folded = false;
  bool at_line = false;  // the next byte is the first of a line
  HttpRequest request;
  int status = 0;
  std::string detail;
};

RequestParser::RequestParser(ParserLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

ParserFed RequestParser::Feed(std::string_view bytes) {
  boost::system::error_code error;
  const bool in_header = !impl_->feeder.parser().is_header_done();
  ParserFed fed = impl_->feeder.Feed(bytes, error);
  if (in_header) impl_->LookForFolds(bytes.substr(0, fed.used));
  if (error) impl_->Refuse(StatusFor(error), DetailFor(error, impl_->feeder.limits()));
  if (fed.step == ParserStep::kHeader && !impl_->ReadHeader()) fed.step = ParserStep::kBad;
  return fed;
}

std::optional<std::uint64_t> RequestParser::content_length() const {
  const auto length = impl_->feeder.parser().content_length();
  return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
}

bool RequestParser::has_body() const {
  return content_length().value_or(0) > 0 || impl_->feeder.parser().chunked();
}

const HttpRequest& RequestParser::head() const { return impl_->request; }

void RequestParser::LimitBody(std::size_t bytes) { impl_->feeder.LimitBody(bytes); }

HttpRequest RequestParser::TakeHead() { return std::move(impl_->request); }

bool RequestParser::expects_continue() const {
  return boost::beast::iequals(impl_->feeder.parser().get()[http::field::expect], "100-continue");
}

bool RequestParser::keep_alive() const { return impl_->feeder.parser().keep_alive(); }

bool RequestParser::is_http10() const { return impl_->feeder.parser().get().version() < 11; }

bool RequestParser::is_head() const {
  return impl_->feeder.parser().get().method() == http::verb::head;
}

std::size_t RequestParser::body_bytes() const { return impl_->feeder.parser().get().body().size(); }

HttpRequest RequestParser::Take() {
  TIDEMILL_CHECK(impl_->feeder.parser().is_done());
  impl_->request.body = std::move(impl_->feeder.parser().get().body());
  return std::move(impl_->request);
}

int RequestParser::status() const { return impl_->status; }
const std::string& RequestParser::detail() const { return impl_->detail; }

struct ResponseParser::Impl {
  Impl(ParserLimits l, ParserAnswerTo t) : limits(l), to(t) { Begin(); }

  void Begin() {
    feeder.emplace(limits);
    if (to == ParserAnswerTo::kHead) feeder->parser().skip(true);
  }

  // Whether the header that has come is one of those before the answer.
  bool IsBefore() const {
    const unsigned status = feeder->parser().get().result_int();
    return status / 100 == 1 && !(status == 101 && to == ParserAnswerTo::kUpgrade);
  }

  const ParserLimits limits;
  const ParserAnswerTo to;
  std::optional<Feeder<http::response_parser<http::string_body>>> feeder;
  std::string detail = "the connection ended in the middle of the answer";
};

ResponseParser::ResponseParser(ParserLimits limits, ParserAnswerTo to)
    : impl_(std::make_unique<Impl>(limits, to)) {}
ResponseParser::~ResponseParser() = default;

ParserFed ResponseParser::Feed(std::string_view bytes) {
  std::size_t used = 0;
  while (true) {
    boost::system::error_code error;
    const ParserFed fed = impl_->feeder->Feed(bytes.substr(used), error);
    used += fed.used;
    if (error) impl_->detail = DetailFor(error, impl_->limits);
    if (fed.step != ParserStep::kHeader) return {fed.step, used};
    if (impl_->IsBefore()) impl_->Begin();
  }
}

ParserStep ResponseParser::FeedEnd() {
  auto& parser = impl_->feeder->parser();
  if (!parser.got_some() || !parser.is_header_done()) return ParserStep::kBad;
  boost::system::error_code error;
  parser.put_eof(error);
  return error ? ParserStep::kBad : ParserStep::kDone;
}

std::string ResponseParser::TakePiece() {
  auto& parser = impl_->feeder->parser();
  if (!parser.is_header_done() || parser.get().result_int() != 200) return {};
  return std::exchange(parser.get().body(), {});
}

int ResponseParser::status() const {
  return static_cast<int>(impl_->feeder->parser().get().result_int());
}

bool ResponseParser::keep_alive() const { return impl_->feeder->parser().keep_alive(); }

HttpResponse ResponseParser::Take() {
  auto& message = impl_->feeder->parser().get();
  HttpResponse response;
  response.status = static_cast<int>(message.result_int());
  response.content_type = View(message[http::field::content_type]);
  response.headers = CopyFields(message);
  response.body = std::move(message.body());
  return response;
}

const std::string& ResponseParser::detail() const { return impl_->detail; }

}  // namespace tidemill
