#include "panto/lib/graph/files/wire/proto_text.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <cstdint>

#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

namespace pb = google::protobuf;

class FirstError final : public pb::io::ErrorCollector {
 public:
  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (text_.empty()) text_ = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

bool parse_proto(std::string_view bytes, pb::Message& message) {
  if (bytes.size() > INT32_MAX) return false;
  const pb::LogSilencer quiet;  // faults become the caller's Error, not lines on standard error
  pb::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxProtoNesting);
  return message.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

void parse_proto_text(std::string_view text, std::string_view what, pb::Message& message) {
  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  pb::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxProtoNesting);
  if (!parser.Parse(&stream, &message)) {
    failf(Code::kDataLoss, "{}: expected its text form, got a fault at {}", what, error.text());
  }
}

std::string proto_text(const pb::Message& message) {
  std::string text;
  pb::TextFormat::Printer printer;
  printer.PrintToString(message, &text);
  return text;
}

}  // namespace panto
