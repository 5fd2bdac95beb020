// The works of an expression-template library: expressions are evaluated into an existing result, as is usual there.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/benchmarks/peers/contestants/contestant.h"

namespace peers {

template <class Matrix>
class Expressions {
 public:
  using Matrices = std::vector<Matrix>;

  // `matrix` makes an input; a vector becomes a row.
  explicit Expressions(Matrix (*matrix)(const float* data, size_t rows, size_t columns)) : matrix_(matrix) {}

  // `f(x, y)` computes y from the inputs x.
  template <class F>
  void add(const std::string& name, F f) {
    add(name, "eager", f);
  }
  // The same for several ops that the compiler fuses into one loop, as other libraries do in a traced function.
  template <class F>
  void add_fused(const std::string& name, F f) {
    add(name, "traced", f);
  }

  std::optional<Workload> make(const std::string& work, const std::string& mode, const std::vector<Input>& in) const {
    const auto found = makers_.find({work, mode});
    const bool narrow = std::any_of(in.begin(), in.end(), [](const Input& i) { return !i.dtype.empty(); });
    if (found == makers_.end() || narrow) return std::nullopt;
    return found->second(in);
  }

 private:
  template <class F>
  void add(const std::string& name, const std::string& mode, F f) {
    makers_[{name, mode}] = [this, f](const std::vector<Input>& inputs) {
      struct State {
        Matrices x;
        Matrix y;
      };
      const auto s = std::make_shared<State>();
      for (const Input& in : inputs) {
        const auto columns = static_cast<size_t>(in.shape.back());
        s->x.push_back(matrix_(in.floats.data(), in.floats.size() / columns, columns));
      }
      return calls(
          [s, f] {
            f(s->x, s->y);
            return s->y.data();
          },
          [s](const float* y) { return std::vector<float>(y, y + s->y.size()); });
    };
  }

  Matrix (*matrix_)(const float*, size_t, size_t);
  std::map<std::pair<std::string, std::string>, std::function<Workload(const std::vector<Input>&)>>
      makers_;  // by work and mode
};

}  // namespace peers
