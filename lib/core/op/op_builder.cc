#include "panto/lib/core/op/op_builder.h"

#include <fmt/ranges.h>

#include "panto/lib/base/mistakes.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/op/signature.h"

namespace panto {
namespace {

std::string signature_text(std::string_view name, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& attrs, const std::vector<std::string>& outputs) {
  return fmt::format("{}({}{}{}) -> ({})", name, fmt::join(inputs, ", "), attrs.empty() ? "" : "; ",
                     fmt::join(attrs, ", "), fmt::join(outputs, ", "));
}

}  // namespace

OpBuilder& OpBuilder::input(std::string_view text) {
  inputs_.emplace_back(text);
  return *this;
}

OpBuilder& OpBuilder::output(std::string_view text) {
  outputs_.emplace_back(text);
  return *this;
}

OpBuilder& OpBuilder::attr(std::string_view text) {
  attrs_.emplace_back(text);
  return *this;
}

std::string OpBuilder::signature() const { return signature_text(name_, inputs_, attrs_, outputs_); }

const Op& OpBuilder::build() const {
  Mistakes mistakes;
  // Each piece is parsed together with the correct pieces before it, so that one fault does not hide others.
  std::vector<std::string> inputs, outputs, attrs;
  const auto add = [&](const char* what, const std::string& piece, std::vector<std::string>& good) {
    good.push_back(piece);
    if (!mistakes.noted(fmt::format("{} \"{}\"", what, printable(piece)),
                        [&] { parse_signature(signature_text("Op", inputs, attrs, outputs)); })) {
      good.pop_back();
    }
  };
  mistakes.noted("name", [&] { parse_signature(signature_text(name_, {}, {}, {})); });
  if (find_op(name_) != nullptr) mistakes.note(fmt::format("name: expected one that is not taken, got {}", name_));
  for (const std::string& piece : attrs_) add("attribute", piece, attrs);
  for (const std::string& piece : inputs_) add("input", piece, inputs);
  for (const std::string& piece : outputs_) add("output", piece, outputs);
  mistakes.check(fmt::format("op '{}'", printable(name_)));
  const std::string text = signature();
  const Op& op = define_op(text.c_str(), block_);
  link_ops();
  return op;
}

}  // namespace panto
