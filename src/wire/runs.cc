// SPDX-License-Identifier: Apache-2.0
#include "wire/runs.h"

namespace tidemill {
namespace {

// Takes a number from the front of `text`; -1 if there is none, or none that can be an offset.
int TakeOffset(std::string_view& text) {
  constexpr std::size_t kMostDigits = 4;
  std::size_t digits = 0;
  int value = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    if (digits == kMostDigits) return -1;
    value = value * 10 + (text[digits] - '0');
    ++digits;
  }
  if (digits == 0 || (text[0] == '0' && digits > 1)) return -1;
  text.remove_prefix(digits);
  return value;
}

tl::unexpected<Error> Bad(std::string_view whole, std::string_view rest, std::string_view why) {
  return Fail(Code::kInvalid, std::string(why) + " at character " +
                                  std::to_string(whole.size() - rest.size() + 1) +
                                  "; runs look like \"0-39,44\"");
}

}  // namespace

std::string FormatRuns(const Bits& bits) {
  std::string out;
  for (int first = bits.FindFrom(0); first >= 0;) {
    int last = first;
    while (last + 1 < bits.length() && bits.Get(last + 1)) ++last;
    if (!out.empty()) out.push_back(',');
    out += std::to_string(first);
    if (last > first) out.append("-").append(std::to_string(last));
    first = last + 1 < bits.length() ? bits.FindFrom(last + 1) : -1;
  }
  return out;
}

Result<Bits> ParseRuns(std::string_view text, int length) {
  Bits bits(length);
  std::string_view rest = text;
  int next = 0;  // the least offset that the next run may begin with
  while (!rest.empty()) {
    const std::string_view run = rest;
    const int first = TakeOffset(rest);
    if (first < 0) return Bad(text, run, "no offset");
    int last = first;
    if (!rest.empty() && rest.front() == '-') {
      rest.remove_prefix(1);
      last = TakeOffset(rest);
      if (last < 0) return Bad(text, rest, "no offset");
    }
    if (last < first) return Bad(text, run, "a run that ends before it begins");
    if (first < next) return Bad(text, run, "a run that overlaps or precedes the one before");
    if (last >= length) {
      return Bad(text, run, "an offset that is not below " + std::to_string(length));
    }
    bits |= Bits::Range(length, first, last - first + 1);
    next = last + 1;
    if (rest.empty()) break;
    if (rest.front() != ',') return Bad(text, rest, "no comma");
    rest.remove_prefix(1);
    if (rest.empty()) return Bad(text, rest, "no offset");
  }
  return bits;
}

}  // namespace tidemill
