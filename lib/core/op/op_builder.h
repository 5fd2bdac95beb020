// OpBuilder: defines an op step by step, for programs that learn at run time which ops there are.
//
//   const Op& twice = OpBuilder("Twice", {.doc = "2 x.", .body = add_to_itself})
//                         .input("x: T").output("y: T").attr("T: numeric").build();
//
// The pieces have the syntax of a signature's text (signature.h). Nothing throws until `build`, which reports all
// mistakes at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/op.h"

namespace panto {

class PANTO_EXPORT OpBuilder {
 public:
  explicit OpBuilder(std::string_view name, const OpBlock& block = {}) : name_(name), block_(block) {}

  OpBuilder& input(std::string_view text);   // "x: T", "values: N*T", "axis: int32 @host"
  OpBuilder& output(std::string_view text);  // the same
  OpBuilder& attr(std::string_view text);    // "T: numeric", "axis: int = 0", "mode: {\"a\", \"b\"}"

  // The signature so far, as text.
  std::string signature() const;
  // Defines and links the op. Throws InvalidArgument with all mistakes, such as a name that another op has.
  const Op& build() const;

 private:
  std::string name_;
  OpBlock block_;
  std::vector<std::string> inputs_, outputs_, attrs_;
};

}  // namespace panto
