// Calls whose instructions test_instructions.py counts, by running this program under callgrind: each work is run until
// nothing is new to it, then a number of times between two requests to callgrind, which writes what it counted under
// the work's name. The program prints how many items that was, "NAME ITEMS". What must not grow with the number of
// items is counted twice, as "NAME.few" and "NAME.many".
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS_AT(name)
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

#include "panto/panto.h"
#include "panto/tests/graph/function_text.h"

namespace panto {
namespace {

constexpr int kRuns = 100, kChain = 100;

void count_now(const std::string& name, int items, const std::function<void()>& run) {
  CALLGRIND_START_INSTRUMENTATION;
  run();
  CALLGRIND_DUMP_STATS_AT(name.c_str());
  CALLGRIND_STOP_INSTRUMENTATION;
  std::cout << name << ' ' << items << '\n';
}

void count(const std::string& name, int items_in_a_run, const std::function<void()>& run) {
  const auto runs = [&] {
    for (int i = 0; i < kRuns; ++i) run();
  };
  runs();
  count_now(name, kRuns * items_in_a_run, runs);
}

Tensor chain(const Tensor& x, const Tensor& factor) {
  Tensor y = x;
  for (int i = 0; i < kChain; ++i) y = mul(y, factor);
  return y;
}

void count_all() {
  const Tensor x = random_uniform({8, 8}, {.seed = 1}), y = random_uniform({8, 8}, {.seed = 2});
  const std::vector<TensorSpec> two = {TensorSpec(kFloat32, {8, 8}), TensorSpec(kFloat32, {8, 8})};
  count("add", 1, [&] { add(x, y); });
  count("matmul", 1, [&] { matmul(x, y); });
  count("add_taped", kChain, [&] {
    GradientTape tape;
    tape.watch(x);
    for (int i = 0; i < kChain; ++i) add(x, y);
  });
  count("chain_and_gradient", kChain, [&] {
    GradientTape tape;
    tape.watch(x);
    tape.gradient(chain(x, y), x);
  });
  const Function one = trace([](const Tensor& a, const Tensor& b) { return mul(a, b); }, two);
  count("traced_call", 1, [&] { one(x, y); });
  const Function unfused = trace(chain, two);
  unfused.set_optimizer("off");
  count("traced_node", kChain, [&] { unfused(x, y); });
  // The other operand's shape is known only at the run: each node's shape function is asked then.
  const Function late =
      trace([](const Tensor& a, const Tensor& n) { return chain(a, cast(ones_like(fill(pack({n, n}), 0)), kFloat32)); },
            {TensorSpec(kFloat32, {8, 8}), TensorSpec(kInt32, {})});
  late.set_optimizer("off");
  const Tensor eight = tensor(8);
  count("late_node", kChain, [&] { late(x, eight); });
}

// A round of a loop on scalars, and one with the round of its gradient.
void count_loops() {
  constexpr int kRounds = 1000;
  const auto halves = [](const Tensor& x) {
    return while_loop([](const Tensor& i, const Tensor&) { return i < kRounds; },
                      [](const Tensor& i, const Tensor& at) { return std::pair(i + 1, at - 0.5f * at * at); },
                      std::pair(tensor(0), x))
        .second;
  };
  const std::vector<TensorSpec> scalar = {TensorSpec(kFloat32, {})};
  const Function loop = trace(halves, scalar);
  const Function gradient = trace(
      [&](const Tensor& x) {
        GradientTape tape;
        tape.watch(x);
        return tape.gradient(halves(x), x);
      },
      scalar);
  const Tensor x = tensor(1.f);
  count("while_round", kRounds, [&] { loop(x); });
  count("while_and_gradient_round", kRounds, [&] { gradient(x); });
}

// ---- Growth: an item of many costs what one of few does -----------------------------------------------

// Counts `work(few)` as "NAME.few" and `work(many)` as "NAME.many". What a work needs beforehand, `prepare` makes of
// the number; the same work is done once before, so that what a process does once is not counted.
template <class Prepare, class Work>
void count_growth(const std::string& name, int few, int many, Prepare prepare, Work work) {
  work(few, prepare(few));
  for (const auto& [suffix, items] : {std::pair(".few", few), std::pair(".many", many)}) {
    auto prepared = prepare(items);
    count_now(name + suffix, items, [&] { work(items, std::move(prepared)); });
  }
}

Tensor list_for(int count) { return tensor_list_reserve(-1, count, kFloat32); }

// Pushes and pops `items` elements, held by another handle meanwhile or given away.
void push_and_pop(int items, bool taped, bool moved) {
  const Tensor x = tensor(1.f);
  std::optional<GradientTape> tape;
  if (taped) tape.emplace().watch(x);
  Tensor list = empty_tensor_list(std::vector<int64_t>{}, -1, kFloat32);
  for (int i = 0; i < items; ++i)
    list = moved ? tensor_list_push_back(std::move(list), x) : tensor_list_push_back(list, x);
  for (int i = 0; i < items; ++i) list = tensor_list_pop_back(list, std::vector<int64_t>{}, kFloat32).output_handle;
}

void count_lists() {
  constexpr int kSets = 1000;
  // An element of a list that is given away is set without a copy of the list, however long that is.
  for (const auto& [name, length] : {std::pair("list_set.few", 10), std::pair("list_set.many", 100'000)}) {
    Tensor list = list_for(length);
    list = tensor_list_set_item(std::move(list), 0, 1.f);
    count_now(name, kSets, [&] {
      for (int i = 0; i < kSets; ++i) list = tensor_list_set_item(std::move(list), i % length, 1.f);
    });
  }
  // In a plan too, where the change is the list's last use.
  const Function sets = trace(
      [](const Tensor& x, const Tensor& n) {
        Tensor list = tensor_list_reserve(-1, n, kFloat32);
        for (int i = 0; i < kSets; ++i) list = tensor_list_set_item(list, i, x);
        return tensor_list_get_item(list, 0, std::vector<int64_t>{}, kFloat32);
      },
      {TensorSpec(kFloat32, {}), TensorSpec(kInt32, {})});
  const Tensor x = tensor(2.f), few = tensor(kSets), many = tensor(20 * kSets);
  sets(x, few);
  count_now("list_set_in_a_plan.few", kSets, [&] { sets(x, few); });
  count_now("list_set_in_a_plan.many", kSets, [&] { sets(x, many); });
  for (const bool taped : {false, true}) {
    for (const bool moved : {false, true}) {
      count_growth(
          std::string("list_push") + (taped ? "_taped" : "") + (moved ? "_moved" : ""), 500, 10'000,
          [](int) { return 0; }, [&](int items, int) { push_and_pop(items, taped, moved); });
    }
  }
}

using List = std::vector<Tensor>;
using Body = List (*)(const Tensor&, int);

List steps_of_a_chain(const Tensor& a, int steps) {
  Tensor y = a;
  for (int i = 0; i < steps; ++i) y = sin(y * a);
  return {y};
}

List steps_with_an_output_each(const Tensor& a, int steps) {
  List out{a};
  for (int i = 0; i < steps; ++i) out.push_back(sin(out.back() * a));
  return out;
}

List steps_with_a_tensor_each(const Tensor& a, int steps) {
  Tensor y = a;
  for (int i = 0; i < steps; ++i) y = sin(y * tensor(std::vector<double>{1.0, 0.5 * i}));
  return {y};
}

// The first call of `f` under a tape, with the gradient of its last output, and of a second order if wanted.
void first_call(const Function& f, bool second_order) {
  const Tensor x = tensor({0.5, 1.5});
  GradientTape outer;
  outer.watch(x);
  if (!second_order) outer.stop();
  Tensor dx;
  {
    GradientTape tape;
    tape.watch(x);
    dx = tape.gradient(f.call({&x, 1}).back(), x);
  }
  if (second_order) outer.gradient(dx, x);
}

void count_first_call(const std::string& name, Body body, bool second_order) {
  count_growth(
      name, 100, 500,
      [&](int steps) {
        const Function f = trace([&](const Tensor& a) { return body(a, steps); }, {TensorSpec(kFloat64, {2})});
        f.set_optimizer(second_order ? "off" : "");
        return f;
      },
      [&](int, const Function& f) { first_call(f, second_order); });
}

// The bytes of a GraphDef: `functions` of them, each a chain of `nodes` nodes, called one after the other.
std::string file_with_functions(int functions, int nodes) {
  using namespace test;  // NOLINT(google-build-using-namespace): the text of graphs
  std::string text = placeholder("x", "DT_FLOAT", dims({2})), library_text, last = "x";
  for (int f = 0; f < functions; ++f) {
    const std::string name = "f" + std::to_string(f), call = "call" + std::to_string(f);
    std::string body, at = "x";
    for (int i = 0; i < nodes; ++i) {
      const std::string node_name = "n" + std::to_string(i);
      body += i % 2 == 0 ? inner(node_name, "Sin", {at}, kFloatT) : inner(node_name, "Mul", {at, "x"}, kFloatT);
      at = node_name + (i % 2 == 0 ? ":y:0" : ":z:0");
    }
    library_text += function(name, kFloatToFloat, body, at);
    text += node(call, "PartitionedCall", {last}, call_attrs(name, kFloat));
    last = call;
  }
  text += node("y", "Identity", {last}, kFloatT) + library(library_text);
  return to_graph_def(parse_graph(text));
}

// Reads the file, plans a run and makes it.
void load_and_run(const std::string& file) {
  Session session(parse_graph(file));
  session.run("y", {{"x", tensor({0.5f, 1.5f})}});
}

void count_loading() {
  count_growth(
      "load_functions", 20, 200, [](int functions) { return file_with_functions(functions, 10); },
      [](int, const std::string& file) { load_and_run(file); });
  count_growth(
      "load_large_functions", 100, 1000, [](int nodes) { return file_with_functions(2, nodes); },
      [](int, const std::string& file) { load_and_run(file); });
}

}  // namespace
}  // namespace panto

int main() {
  using namespace panto;
  count_all();
  count_loops();
  count_lists();
  count_loading();
  count_first_call("first_call", steps_of_a_chain, false);
  count_first_call("first_call_many_outputs", steps_with_an_output_each, false);
  count_first_call("first_call_many_tensors", steps_with_a_tensor_each, false);
  count_first_call("first_call_second_order", steps_of_a_chain, true);
}
