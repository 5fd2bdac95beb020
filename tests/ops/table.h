// The op sample table: what an op is tried with. One row serves every question (questions.h) about an op.
//
//   const Family math("math", {
//       {"Tanh", real(-4, 4), [](double x) { return std::tanh(x); }},
//       {"MatMul", {.samples = {{.in = {draw({2, 3}), draw({3, 4})}},
//                               {.in = {draw({3, 2}), draw({3, 4})}, .attrs = {{"transpose_a", true}}}},
//                   .reference = matmul_reference,
//                   .errors = {{.in = {draw({2, 3}), draw({2, 3})}, .text = "inner dimensions: expected 3, got 2"}}}},
//   });
//
// Each row becomes a Boost.Test suite ops/<Op>[-label] with a case for each question that applies to it. An op may have
// several rows. Inputs are flat (list arguments in place), in signature order. Those whose type is the op's primary
// type attribute take the type that is asked for, the others their own: the attribute's default, or the first allowed.
#pragma once

#include <functional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/error.h"
#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/op/op.h"
#include "panto/tests/ops/array_value.h"

namespace panto::test {

struct Attr {
  std::string name;
  AttrValue value;
  Attr(const char* n, bool v) : name(n), value(v) {}
  Attr(const char* n, int v) : name(n), value(int64_t{v}) {}
  Attr(const char* n, double v) : name(n), value(static_cast<float>(v)) {}
  Attr(const char* n, DType v) : name(n), value(v) {}
  Attr(const char* n, const char* v) : name(n), value(std::string(v)) {}
  Attr(const char* n, std::vector<int64_t> v) : name(n), value(std::move(v)) {}
  Attr(const char* n, std::vector<float> v) : name(n), value(std::move(v)) {}
  Attr(const char* n, std::vector<DType> v) : name(n), value(std::move(v)) {}
  Attr(const char* n, std::vector<std::string> v) : name(n), value(std::move(v)) {}
  Attr(const char* n, PartialShape v) : name(n), value(std::move(v)) {}
  Attr(const char* n, Tensor v) : name(n), value(std::move(v)) {}
  Attr(const char* n, FunctionRef v) : name(n), value(std::move(v)) {}
  Attr(const char* n, std::vector<FunctionRef> v) : name(n), value(std::move(v)) {}
};
using Attrs = std::vector<Attr>;

// What a reference function gets: the inputs as the op gets them (rounded to its types), and the attributes.
struct Given {
  const Op& op;
  std::vector<Array> in;
  const Attrs& attrs;
  DType type = DType::kInvalid;  // the primary type

  // Of an attribute, or its default.
  bool flag(const char* name) const;
  int64_t integer(const char* name) const;
  double real(const char* name) const;
  std::string text(const char* name) const;
  std::vector<int64_t> integers(const char* name) const;
  std::vector<std::string> texts(const char* name) const;

 private:
  const AttrValue& find(const char* name) const;
};

struct Sample {
  std::vector<Array> in;
  Attrs attrs = {};
  std::vector<Array> out = {};  // else the row's reference tells
};

struct ErrorSample {
  std::vector<Array> in;
  Attrs attrs = {};
  Code code = Code::kInvalidArgument;
  std::string text = {};         // how the message begins
  DType type = DType::kInvalid;  // the primary type; kInvalid: the row's first one
};

// A further question, about this op only.
struct OwnTest {
  std::string name;
  std::function<void()> run;
};

using Reference = std::function<std::vector<Array>(const Given&)>;

struct Details {
  std::vector<Sample> samples = {};
  Reference reference = nullptr;
  Reference after = nullptr;  // what the variables among the inputs hold after the call, in order
  std::vector<ErrorSample> errors = {};
  std::vector<OwnTest> own = {};
  const char* label = "";
  DTypeSet types = dtypes::kAny;  // of the primary attribute: those that the samples are meant for
  double units = 4;               // tolerance in units of the last place ...
  double floor = 1;               // ... of values of at least this size
  bool gradient = true;           // false: the samples are at kinks
  bool second_order = true;
  std::vector<size_t> constant = {};  // floating outputs that no gradient goes through
  std::vector<size_t> fixed = {};     // the signature's inputs whose elements, in another order, would not be valid
  bool data_dependent_shape = false;
  bool random = false;  // two calls differ
  bool effect = false;  // reads or changes something outside: not run twice, nor symbolically
};

struct Domain {
  double low, high;
};
constexpr Domain real(double low, double high) { return {low, high}; }

struct Row {
  using Unary = double (*)(double);
  using Binary = double (*)(double, double);

  // NOLINTBEGIN(google-explicit-constructor): rows are written as braced lists
  Row(const char* op, Domain x, Unary f, Details details = {},
      std::source_location where = std::source_location::current());
  Row(const char* op, Domain x, Domain y, Binary f, Details details = {},
      std::source_location where = std::source_location::current());
  Row(const char* op, Details details, std::source_location where = std::source_location::current());
  // NOLINTEND(google-explicit-constructor)

  const char* op_name;
  Details d;
  std::source_location where;
  int operands = 0;  // 1 or 2: an elementwise op with a function of its elements
  Unary unary = nullptr;
  Binary binary = nullptr;
  Domain domains[2] = {};

  std::string name() const;  // "Div-integers"
  const Op& op() const { return get_op(op_name); }
};

// Enters its rows, and a test case for each question, while the program starts.
class Family {
 public:
  Family(const char* name, std::vector<Row> rows);
};
// In the order of entry; valid for ever.
const std::vector<const Row*>& all_rows();

// ---- Calling an op with a sample ------------------------------------------------------------------------------------

// A sample made concrete for one primary type.
struct Bound {
  const Row* row;
  const Op* op;
  DType type;
  std::vector<Tensor> in;
  Attrs attrs;
  Given given;

  std::vector<std::pair<std::string, AttrValue>> attr_pairs() const;
  std::vector<AttrValue> attr_values() const;  // by signature position; those not given are empty
  std::vector<Tensor> call() const;            // eagerly
  std::vector<Tensor> call(std::span<const Tensor> inputs) const;
  std::vector<Array> expected(const Sample& sample) const;
  std::vector<Tensor> variables() const;  // the values of those among the inputs
  std::string text() const;               // "float32, in: [2,3], [3]; axis=1"
};

// The argument (in op.signature().inputs) that each of `count` flat inputs belongs to.
std::vector<int> argument_of_inputs(const Op& op, size_t count, const Attrs& attrs);
// Throws where the sample's values do not fit the type. `others`: types for further type attributes, by position.
Bound bind(const Row& row, const Sample& sample, DType type, const std::vector<std::pair<int, DType>>& others = {});
bool fits(const Row& row, const Sample& sample, DType type);
// The types the row's samples are tried in on a device: allowed, implemented, and meant. {kInvalid} for an op without
// a primary type.
std::vector<DType> types_of(const Row& row, DeviceKind kind = DeviceKind::kCpu);
DType first_type(const Row& row);
// Every sample in every type that it fits: f(sample, bound).
void for_each_bound(const Row& row, const std::function<void(const Sample&, const Bound&)>& f);
// In one type only: the first that a sample fits.
void for_each_sample(const Row& row, const std::function<void(const Sample&, const Bound&)>& f);

}  // namespace panto::test
