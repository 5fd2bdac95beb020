#include "panto/lib/base/error.h"

#include "panto/lib/base/text/quote.h"

namespace panto {

struct Error::State {
  Code code;
  std::string message;
  std::string what;
};

std::string_view code_name(Code code) noexcept {
  switch (code) {
    case Code::kCancelled: return "Cancelled";
    case Code::kInvalidArgument: return "InvalidArgument";
    case Code::kDeadlineExceeded: return "DeadlineExceeded";
    case Code::kNotFound: return "NotFound";
    case Code::kAlreadyExists: return "AlreadyExists";
    case Code::kPermissionDenied: return "PermissionDenied";
    case Code::kResourceExhausted: return "ResourceExhausted";
    case Code::kFailedPrecondition: return "FailedPrecondition";
    case Code::kAborted: return "Aborted";
    case Code::kOutOfRange: return "OutOfRange";
    case Code::kUnimplemented: return "Unimplemented";
    case Code::kInternal: return "Internal";
    case Code::kUnavailable: return "Unavailable";
    case Code::kDataLoss: return "DataLoss";
  }
  return "Unknown";
}

namespace {

constexpr size_t kLongestMessage = 4000;  // with the code and the note of how much was cut, below 4 KB
constexpr size_t kLongestContext = 1000;

std::string full_text(Code code, const std::string& message) {
  std::string text(code_name(code));
  return text.append(": ").append(message);
}

}  // namespace

Error::Error(Code code, std::string message) : state_(std::make_shared<State>()) {
  state_->code = code;
  state_->message = shortened(printable(message, kLongestMessage), kLongestMessage);
  state_->what = full_text(code, state_->message);
}

Code Error::code() const noexcept { return state_->code; }
const std::string& Error::message() const noexcept { return state_->message; }
const char* Error::what() const noexcept { return state_->what.c_str(); }

void Error::add_context(std::string_view context) {
  // A copy may have been taken already (std::exception_ptr, another thread): extend a state of our own.
  auto extended = std::make_shared<State>(*state_);
  extended->message.append(" [").append(printable(context, kLongestContext)).append("]");
  extended->message = shortened(extended->message, kLongestMessage);
  extended->what = full_text(extended->code, extended->message);
  state_ = std::move(extended);
}

void fail(Code code, std::string message) { throw Error(code, std::move(message)); }

}  // namespace panto
