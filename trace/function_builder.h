// FunctionBuilder: a function written node by node, by hand or by a program that reads another language.
//
//   FunctionBuilder b("line");
//   auto x = b.input("x", kFloat32, {-1});
//   auto w = b.input("w", kFloat32, {});
//   b.output("y", b.node("AddV2", {b.node("Mul", {x, w}), b.constant(1.f)}));
//   Function line = b.build();                  // line(x, w)
//
// Ops, attributes and shapes are checked as they are given; what is wrong is said by `build`, all of it at once, and
// what follows from a mistake is no further one.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/create.h"
#include "panto/trace/function.h"

namespace panto {

class PANTO_EXPORT FunctionBuilder {
 public:
  // An output of a node: the first one, until another is asked for.
  class Value {
   public:
    // Output `k` of the same node.
    Value operator[](int k) const { return {node_, k}; }

   private:
    friend class FunctionBuilder;
    Value(int node, int index) : node_(node), index_(index) {}
    int node_;  // -1: what a mistake gave
    int index_;
  };
  using Attrs = std::vector<std::pair<std::string, AttrValue>>;
  struct NodeOptions {
    std::string name = {};          // else one that is made of the op's
    std::string device = {};        // "": anywhere
    std::vector<Value> after = {};  // it waits for these
  };

  explicit FunctionBuilder(std::string name);
  ~FunctionBuilder();
  FunctionBuilder(const FunctionBuilder&) = delete;
  FunctionBuilder& operator=(const FunctionBuilder&) = delete;

  Value input(std::string name, DType dtype, PartialShape shape);
  // {} is a scalar's shape here, not an unknown one.
  Value input(std::string name, DType dtype, std::initializer_list<Dim> dims);
  Value constant(const Tensor& value);
  template <class T>
    requires std::is_arithmetic_v<T>
  Value constant(T value) {
    return constant(tensor(value));
  }
  // Lists of inputs are spread. Attributes by name; those that inputs tell, and those that have defaults, may be left
  // out. A node with effects runs at every call.
  Value node(std::string_view op, const std::vector<Value>& inputs, const Attrs& attrs, const NodeOptions& options);
  Value node(std::string_view op, const std::vector<Value>& inputs, const Attrs& attrs = {}) {
    return node(op, inputs, attrs, {});
  }
  // Outputs are in the order in which they are given; names must be different.
  void output(std::string name, Value value);

  // Throws InvalidArgument that has every mistake.
  Function build() const;
  // As text of Graph, of what is there so far.
  std::string to_string() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
