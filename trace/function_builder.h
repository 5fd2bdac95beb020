// FunctionBuilder: builds a function node by node, by hand or from a program that reads another format.
//
//   FunctionBuilder b("line");
//   auto x = b.input("x", kFloat32, {-1});
//   auto w = b.input("w", kFloat32, {});
//   b.output("y", b.node("AddV2", {b.node("Mul", {x, w}), b.constant(1.f)}));
//   Function line = b.build();                  // line(x, w)
//
// Ops, attributes and shapes are checked as nodes are added; `build` reports all mistakes at once. Errors that only
// follow from an earlier mistake are not reported.
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
  // An output of a node; by default the first one.
  class Value {
   public:
    // Output `k` of the same node.
    Value operator[](int k) const { return {node_, k}; }

   private:
    friend class FunctionBuilder;
    Value(int node, int index) : node_(node), index_(index) {}
    int node_;  // -1: the result of a mistake
    int index_;
  };
  using Attrs = std::vector<std::pair<std::string, AttrValue>>;
  struct NodeOptions {
    std::string name = {};          // "": derived from the op's name
    std::string device = {};        // "": anywhere
    std::vector<Value> after = {};  // control inputs
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
  // Adds a node. Elements of list arguments are passed as separate inputs. Attributes that follow from inputs or have
  // defaults may be left out. A node with effects runs at every call.
  Value node(std::string_view op, const std::vector<Value>& inputs, const Attrs& attrs, const NodeOptions& options);
  Value node(std::string_view op, const std::vector<Value>& inputs, const Attrs& attrs = {}) {
    return node(op, inputs, attrs, {});
  }
  // Adds an output. Outputs keep this order; names must be different.
  void output(std::string name, Value value);

  // Throws InvalidArgument that lists every mistake.
  Function build() const;
  // The nodes so far, as Graph::to_string.
  std::string to_string() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
