// Autodidax: the ideas of this library in one self-contained file.
//
//   1. Tensor   a value that never changes
//   2. Op       a name, a shape function, a kernel, a gradient
//   3. call     runs the kernel, then notifies the recorders
//   4. Tape     listens, and walks back: gradients
//   5. Tracer   listens too, and writes a graph
//   6. Passes   make the graph smaller
//   7. Plan     a list of steps whose results share memory
//   8. main     trains a small network in all these ways, and checks that they agree
//
// Read it from top to bottom. Each part names the files where the library does the same, for many types, ops, devices
// and threads. Here every tensor is a matrix of floats, and errors are std::runtime_error. (The idea to explain a
// library by a small one is JAX's: "Autodidax: JAX core from scratch".)
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

// ---- 1. Tensor (lib/core/tensor/tensor.h) ---------------------------------------------------------------------------
//
// A handle. Copies share the elements, which never change once the tensor exists: so a tape may keep a tensor, and any
// thread may read it, without locks. A tensor without elements is symbolic: while a function is traced it stands for a
// later value, and only its shape is known.

struct Shape {
  int rows = 1, columns = 1;
  int size() const { return rows * columns; }
  bool operator==(const Shape&) const = default;
};

using Elements = std::vector<float>;

struct Tensor {
  Shape shape;
  std::shared_ptr<const Elements> elements;  // null: symbolic
  int id = 0;                                // unique: the key by which tapes and tracers look tensors up

  bool defined() const { return id != 0; }
  float item() const {
    if (elements == nullptr) throw std::runtime_error("item: a symbolic tensor has no value yet");
    return elements->at(0);
  }
};

Tensor make_tensor(Shape shape, std::shared_ptr<const Elements> elements) {
  static int last_id = 0;
  return {shape, std::move(elements), ++last_id};
}
Tensor tensor(Shape shape, Elements elements) {
  return make_tensor(shape, std::make_shared<const Elements>(std::move(elements)));
}
Tensor full(Shape shape, float value) { return tensor(shape, Elements(static_cast<size_t>(shape.size()), value)); }

// ---- 2. Op (lib/core/op/op.h; the definitions are in lib/ops, the kernels in device) --------------------------------
//
// One definition serves all uses. Eager calls, graphs and tests share the shape function and the kernel. The gradient
// is written with ops, so it can itself be differentiated and traced.

struct Call;  // an op, its inputs and its output

struct Op {
  const char* name;
  Shape (*shape)(std::span<const Tensor> in);  // throws if the inputs do not fit
  void (*kernel)(std::span<const Tensor> in, Shape out, float* y);
  std::vector<Tensor> (*gradient)(const Call& call, const Tensor& dy);  // one per input; undefined: no gradient
};

struct Call {
  const Op* op;
  std::vector<Tensor> in;
  Tensor out;
};

Tensor call(const Op& op, std::vector<Tensor> in);  // part 3

Tensor add(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor tanh(const Tensor& x);
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor transpose(const Tensor& x);
Tensor sum(const Tensor& x);                         // of all elements, as [1, 1]
Tensor expand(const Tensor& x, const Tensor& like);  // from [1, 1] to the shape of `like`

Shape same_shape(std::span<const Tensor> in) {
  for (const Tensor& t : in) {
    if (t.shape != in[0].shape) throw std::runtime_error("expected tensors of one shape");
  }
  return in[0].shape;
}

const Op kAdd = {"Add", same_shape,
                 [](std::span<const Tensor> in, Shape out, float* y) {
                   const Elements &a = *in[0].elements, &b = *in[1].elements;
                   for (size_t i = 0; i < static_cast<size_t>(out.size()); ++i) y[i] = a[i] + b[i];
                 },
                 [](const Call&, const Tensor& dy) { return std::vector{dy, dy}; }};

const Op kMul = {"Mul", same_shape,
                 [](std::span<const Tensor> in, Shape out, float* y) {
                   const Elements &a = *in[0].elements, &b = *in[1].elements;
                   for (size_t i = 0; i < static_cast<size_t>(out.size()); ++i) y[i] = a[i] * b[i];
                 },
                 [](const Call& c, const Tensor& dy) { return std::vector{mul(dy, c.in[1]), mul(dy, c.in[0])}; }};

const Op kTanh = {"Tanh", same_shape,
                  [](std::span<const Tensor> in, Shape out, float* y) {
                    const Elements& x = *in[0].elements;
                    for (size_t i = 0; i < static_cast<size_t>(out.size()); ++i) y[i] = std::tanh(x[i]);
                  },
                  // tanh' = 1 - tanh^2, computed from the output instead of the input.
                  [](const Call& c, const Tensor& dy) {
                    const Tensor minus_square = mul(mul(c.out, c.out), full(c.out.shape, -1));
                    return std::vector{mul(dy, add(full(c.out.shape, 1), minus_square))};
                  }};

const Op kMatMul = {"MatMul",
                    [](std::span<const Tensor> in) {
                      if (in[0].shape.columns != in[1].shape.rows) throw std::runtime_error("matmul: shapes differ");
                      return Shape{in[0].shape.rows, in[1].shape.columns};
                    },
                    [](std::span<const Tensor> in, Shape out, float* y) {
                      const Elements &a = *in[0].elements, &b = *in[1].elements;
                      const auto rows = static_cast<size_t>(out.rows), columns = static_cast<size_t>(out.columns);
                      const auto depth = static_cast<size_t>(in[0].shape.columns);
                      std::fill_n(y, rows * columns, 0.f);
                      for (size_t i = 0; i < rows; ++i) {
                        for (size_t k = 0; k < depth; ++k) {
                          for (size_t j = 0; j < columns; ++j) {
                            y[i * columns + j] += a[i * depth + k] * b[k * columns + j];
                          }
                        }
                      }
                    },
                    [](const Call& c, const Tensor& dy) {
                      return std::vector{matmul(dy, transpose(c.in[1])), matmul(transpose(c.in[0]), dy)};
                    }};

const Op kTranspose = {"Transpose",
                       [](std::span<const Tensor> in) { return Shape{in[0].shape.columns, in[0].shape.rows}; },
                       [](std::span<const Tensor> in, Shape out, float* y) {
                         const auto rows = static_cast<size_t>(out.rows), columns = static_cast<size_t>(out.columns);
                         for (size_t i = 0; i < rows; ++i) {
                           for (size_t j = 0; j < columns; ++j) y[i * columns + j] = (*in[0].elements)[j * rows + i];
                         }
                       },
                       [](const Call&, const Tensor& dy) { return std::vector{transpose(dy)}; }};

const Op kSum = {"Sum", [](std::span<const Tensor>) { return Shape{1, 1}; },
                 [](std::span<const Tensor> in, Shape, float* y) {
                   *y = 0;
                   for (const float x : *in[0].elements) *y += x;
                 },
                 [](const Call& c, const Tensor& dy) { return std::vector{expand(dy, c.in[0])}; }};

const Op kExpand = {
    "Expand", [](std::span<const Tensor> in) { return in[1].shape; },
    [](std::span<const Tensor> in, Shape out, float* y) { std::fill_n(y, out.size(), in[0].elements->at(0)); },
    [](const Call&, const Tensor& dy) { return std::vector{sum(dy), Tensor()}; }};

Tensor add(const Tensor& a, const Tensor& b) { return call(kAdd, {a, b}); }
Tensor mul(const Tensor& a, const Tensor& b) { return call(kMul, {a, b}); }
Tensor tanh(const Tensor& x) { return call(kTanh, {x}); }
Tensor matmul(const Tensor& a, const Tensor& b) { return call(kMatMul, {a, b}); }
Tensor transpose(const Tensor& x) { return call(kTranspose, {x}); }
Tensor sum(const Tensor& x) { return call(kSum, {x}); }
Tensor expand(const Tensor& x, const Tensor& like) { return call(kExpand, {x, like}); }

// ---- 3. call (lib/core/call/dispatch.cc) and those who listen (lib/core/call/recorder.h) ----------------------------
//
// Every computation on tensors goes through `call`. Kernels know nothing of tapes or graphs, and tapes nothing of
// graphs: a recorder is notified after each call.

struct Recorder {
  virtual ~Recorder() = default;
  virtual void record(const Call& call) = 0;
};
std::vector<Recorder*> recorders;  // innermost last (in the library: one list per thread)

struct Listening {
  explicit Listening(Recorder* r) { recorders.push_back(r); }
  ~Listening() { recorders.pop_back(); }
  Listening(const Listening&) = delete;
};

Tensor call(const Op& op, std::vector<Tensor> in) {
  const Shape shape = op.shape(in);
  std::shared_ptr<Elements> elements;
  if (std::ranges::all_of(in, [](const Tensor& t) { return t.elements != nullptr; })) {
    elements = std::make_shared<Elements>(static_cast<size_t>(shape.size()));
    op.kernel(in, shape, elements->data());
  }
  const Call done{&op, std::move(in), make_tensor(shape, std::move(elements))};
  for (size_t i = recorders.size(); i-- > 0;) recorders[i]->record(done);
  return done.out;
}

// ---- 4. Tape (autograd/tape.cc) -------------------------------------------------------------------------------------
//
// The chain rule, from the last call to the first. Meanwhile this tape does not listen, but outer recorders do: an
// outer tape records the gradient like any other computation, which gives second derivatives.

class Tape final : public Recorder {
 public:
  void record(const Call& call) override { calls_.push_back(call); }

  // Precondition: the tape no longer listens.
  std::vector<Tensor> gradient(const Tensor& y, const std::vector<Tensor>& sources) const {
    std::map<int, Tensor> gradients = {{y.id, full(y.shape, 1)}};
    for (size_t i = calls_.size(); i-- > 0;) {
      const Call& c = calls_[i];
      const auto dy = gradients.find(c.out.id);
      if (dy == gradients.end()) continue;  // y does not depend on it
      const std::vector<Tensor> dx = c.op->gradient(c, dy->second);
      for (size_t k = 0; k < dx.size(); ++k) {
        if (!dx[k].defined()) continue;
        Tensor& all = gradients[c.in[k].id];
        all = all.defined() ? add(all, dx[k]) : dx[k];  // a value that is used twice gets the sum of both gradients
      }
    }
    std::vector<Tensor> result;
    for (const Tensor& s : sources) result.push_back(gradients.contains(s.id) ? gradients[s.id] : full(s.shape, 0));
    return result;
  }

 private:
  std::vector<Call> calls_;
};

// Returns f's value and its gradient by each argument.
using Model = std::function<Tensor(const std::vector<Tensor>&)>;
std::pair<Tensor, std::vector<Tensor>> value_and_gradient(const Model& f, const std::vector<Tensor>& arguments) {
  Tape tape;
  Tensor y;
  {
    const Listening listening(&tape);
    y = f(arguments);
  }
  return {y, tape.gradient(y, arguments)};
}

// ---- 5. Graph and Tracer (lib/graph/graph.h, trace/tracer.cc) -------------------------------------------------------
//
// Tracing calls a function once with symbolic tensors while a recorder notes its calls. The graph is data: it can be
// inspected, changed, saved, and run without the C++ function.

struct Node {
  const Op* op = nullptr;   // null: an input, or a constant
  std::vector<int> inputs;  // indices of earlier nodes
  Shape shape;
  Tensor constant = {};
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<int> inputs, outputs;
};

class Tracer final : public Recorder {
 public:
  Tensor input(Shape shape) {
    const Tensor symbol = make_tensor(shape, nullptr);
    graph_.inputs.push_back(node_of_[symbol.id] = append({nullptr, {}, shape}));
    return symbol;
  }
  void record(const Call& call) override {
    // A call on known values is not recorded; its result becomes a constant when a node uses it.
    if (call.out.elements != nullptr) return;
    Node node{call.op, {}, call.out.shape};
    for (const Tensor& t : call.in) node.inputs.push_back(node_of(t));
    node_of_[call.out.id] = append(std::move(node));
  }
  Graph finish(const std::vector<Tensor>& outputs) {
    for (const Tensor& t : outputs) graph_.outputs.push_back(node_of(t));
    return std::move(graph_);
  }

 private:
  int append(Node node) {
    graph_.nodes.push_back(std::move(node));
    return static_cast<int>(graph_.nodes.size()) - 1;
  }
  // A tensor from outside the function becomes a constant.
  int node_of(const Tensor& t) {
    const auto [at, is_new] = node_of_.emplace(t.id, -1);
    if (is_new) at->second = append({nullptr, {}, t.shape, t});
    return at->second;
  }

  Graph graph_;
  std::map<int, int> node_of_;  // by tensor id
};

using Traced = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
Graph trace(const Traced& f, const std::vector<Shape>& shapes) {
  Tracer tracer;
  std::vector<Tensor> arguments;
  for (const Shape& s : shapes) arguments.push_back(tracer.input(s));
  std::vector<Tensor> results;
  {
    const Listening listening(&tracer);
    results = f(arguments);
  }
  return tracer.finish(results);
}

// ---- 6. Passes (lib/runtime/optimizer.cc, lib/runtime/passes) -------------------------------------------------------
//
// Each pass makes a graph with bit-identical results. Here one walk does all passes: constant folding, reuse of equal
// nodes, and removal of nodes that no output needs.

bool same_value(const Node& a, const Node& b) {
  if (a.op != b.op || a.inputs != b.inputs || a.shape != b.shape) return false;
  if (a.op != nullptr) return true;
  return a.constant.defined() && b.constant.defined() && *a.constant.elements == *b.constant.elements;
}

Graph optimize(const Graph& graph) {
  std::vector<bool> needed(graph.nodes.size());
  for (const int i : graph.inputs) needed[static_cast<size_t>(i)] = true;
  for (const int o : graph.outputs) needed[static_cast<size_t>(o)] = true;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    for (const int i : graph.nodes[n].inputs)
      needed[static_cast<size_t>(i)] = needed[static_cast<size_t>(i)] || needed[n];
  }
  Graph better;
  std::vector<int> becomes(graph.nodes.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!needed[n]) continue;
    Node node = graph.nodes[n];
    std::vector<Tensor> values;
    for (int& i : node.inputs) {
      i = becomes[static_cast<size_t>(i)];
      values.push_back(better.nodes[static_cast<size_t>(i)].constant);
    }
    if (node.op != nullptr && std::ranges::all_of(values, &Tensor::defined)) {
      node = {nullptr, {}, node.shape, call(*node.op, values)};
    }
    const auto twin = std::ranges::find_if(better.nodes, [&](const Node& other) { return same_value(node, other); });
    becomes[n] = static_cast<int>(twin - better.nodes.begin());
    if (twin == better.nodes.end()) better.nodes.push_back(std::move(node));
  }
  for (const int i : graph.inputs) better.inputs.push_back(becomes[static_cast<size_t>(i)]);
  for (const int o : graph.outputs) better.outputs.push_back(becomes[static_cast<size_t>(o)]);
  return better;
}

// ---- 7. Plan (lib/runtime/plan/planner.cc, memory_plan.cc) -------------------------------------------------------
//
// Decides once what does not depend on values: the order of the steps and the memory of each result. A buffer is reused
// as soon as its content is no longer needed.

class Plan {
 public:
  explicit Plan(Graph graph) : graph_(std::move(graph)), buffer_of_(graph_.nodes.size(), -1) {
    const auto count = static_cast<int>(graph_.nodes.size());
    std::vector<int> last_use(graph_.nodes.size());
    for (int n = 0; n < count; ++n) {
      for (const int i : node(n).inputs) last_use[static_cast<size_t>(i)] = n;
    }
    for (const int o : graph_.outputs) last_use[static_cast<size_t>(o)] = count;  // the caller keeps these
    std::vector<int> free;
    for (int n = 0; n < count; ++n) {
      if (node(n).op == nullptr) continue;
      const auto fits = [&](int b) { return buffers_[static_cast<size_t>(b)] == node(n).shape.size(); };
      if (const auto found = std::ranges::find_if(free, fits); found != free.end()) {
        buffer_of_[static_cast<size_t>(n)] = *found;
        free.erase(found);
      } else {
        buffer_of_[static_cast<size_t>(n)] = static_cast<int>(buffers_.size());
        buffers_.push_back(node(n).shape.size());
      }
      // Freed after this step got its buffer, because a kernel must not write to its inputs.
      for (const int i : node(n).inputs) {
        const int b = buffer_of_[static_cast<size_t>(i)];
        if (last_use[static_cast<size_t>(i)] == n && b >= 0 && std::ranges::find(free, b) == free.end())
          free.push_back(b);
      }
    }
  }

  std::vector<Tensor> run(const std::vector<Tensor>& arguments) const {
    std::vector<std::shared_ptr<Elements>> memory;
    for (const int size : buffers_) memory.push_back(std::make_shared<Elements>(static_cast<size_t>(size)));
    std::vector<Tensor> values(graph_.nodes.size());
    for (size_t i = 0; i < arguments.size(); ++i) values[static_cast<size_t>(graph_.inputs[i])] = arguments[i];
    for (size_t n = 0; n < values.size(); ++n) {
      const Node& step = graph_.nodes[n];
      if (step.constant.defined()) values[n] = step.constant;
      if (step.op == nullptr) continue;
      std::vector<Tensor> in;
      for (const int i : step.inputs) in.push_back(values[static_cast<size_t>(i)]);
      const auto& buffer = memory[static_cast<size_t>(buffer_of_[n])];
      step.op->kernel(in, step.shape, buffer->data());
      values[n] = make_tensor(step.shape, buffer);
    }
    std::vector<Tensor> results;
    for (const int o : graph_.outputs) results.push_back(values[static_cast<size_t>(o)]);
    return results;
  }

  size_t steps() const {
    return static_cast<size_t>(std::ranges::count_if(buffer_of_, [](int b) { return b >= 0; }));
  }
  size_t buffers() const { return buffers_.size(); }

 private:
  const Node& node(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }

  Graph graph_;
  std::vector<int> buffers_;    // sizes
  std::vector<int> buffer_of_;  // by node; -1: an input or a constant
};

// ---- 8. All of it together ------------------------------------------------------------------------------------------

int failures = 0;
void check(bool holds, const std::string& what) {
  std::printf("%s  %s\n", holds ? "ok    " : "FAILED", what.c_str());
  failures += holds ? 0 : 1;
}

// The sum of squares of a two-layer network's output for x.
Tensor loss(const Tensor& x, const Tensor& w, const Tensor& v) {
  const Tensor y = matmul(tanh(matmul(x, w)), v);
  return sum(mul(y, y));
}

void run() {
  const Tensor x = tensor({2, 3}, {0.5f, -1, 2, 1, 0.25f, -0.5f});
  Tensor w = tensor({3, 2}, {0.1f, -0.2f, 0.3f, 0.4f, -0.5f, 0.6f}), v = tensor({2, 1}, {0.7f, -0.8f});

  // Gradients, against finite differences.
  const Model of_weights = [&](const std::vector<Tensor>& a) { return loss(x, a[0], a[1]); };
  const std::vector<Tensor> gradients = value_and_gradient(of_weights, {w, v}).second;
  float worst = 0;
  for (size_t i = 0; i < w.elements->size(); ++i) {
    constexpr float kStep = 1e-2f;
    Elements up = *w.elements, down = *w.elements;
    up[i] += kStep, down[i] -= kStep;
    const float slope =
        (loss(x, tensor(w.shape, up), v).item() - loss(x, tensor(w.shape, down), v).item()) / (2 * kStep);
    worst = std::max(worst, std::abs(slope - (*gradients[0].elements)[i]));
  }
  check(worst < 1e-3f, "the tape's gradient is that of finite differences");

  // A tape inside a tape: tanh'' = -2 tanh (1 - tanh^2).
  const Model slope = [](const std::vector<Tensor>& a) {
    return value_and_gradient([](const std::vector<Tensor>& b) { return tanh(b[0]); }, a).second[0];
  };
  const float at = 0.3f, t = std::tanh(at);
  const float second = value_and_gradient(slope, {full({1, 1}, at)}).second[0].item();
  check(std::abs(second + 2 * t * (1 - t * t)) < 1e-6f, "a tape inside a tape gives the second derivative");

  // One training step, called from C++ and traced with its gradient.
  const Traced step = [&](const std::vector<Tensor>& a) {
    const auto [value, g] = value_and_gradient(of_weights, a);
    const auto descend = [](const Tensor& p, const Tensor& d) { return add(p, mul(d, full(d.shape, -0.1f))); };
    return std::vector{value, descend(a[0], g[0]), descend(a[1], g[1])};
  };
  const Graph graph = trace(step, {w.shape, v.shape});
  const Plan plain(graph), plan(optimize(graph));
  std::printf("        a training step: %zu steps in %zu buffers; optimized, %zu in %zu\n", plain.steps(),
              plain.buffers(), plan.steps(), plan.buffers());
  check(plan.steps() < plain.steps(), "passes leave steps out");
  check(plan.buffers() < plan.steps(), "results share buffers");

  float first = 0, last = 0;
  bool same = true;
  for (int i = 0; i < 20; ++i) {
    const std::vector<Tensor> eager = step({w, v}), planned = plan.run({w, v});
    for (size_t k = 0; k < eager.size(); ++k) same = same && *eager[k].elements == *planned[k].elements;
    (i == 0 ? first : last) = planned[0].item();
    w = planned[1], v = planned[2];
  }
  check(same, "the plan gives the bits that eager calls give, in 20 steps of training");
  check(last < first / 100, "which make the loss small: " + std::to_string(first) + " to " + std::to_string(last));
}

}  // namespace

int main() {
  run();
  return failures == 0 ? 0 : 1;
}
